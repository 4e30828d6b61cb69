"""`cargo test`: its command, the lines that its test programs print, and the files that steer it.

A test's id is `FILE::module::name`: the file is the root of the test program, `src/lib.rs` or
`tests/a.rs`. A test in the documentation has the name that rustdoc gives it. The stable compiler
has no other report than these lines.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.scoring.node_ids import file_of, is_node_id, name_in_file, node_id_of
from agentbench.test_runs.external_runner import (
    OUTPUT_FILE,
    ExternalFiles,
    ExternalReport,
    ExternalRunner,
)
from agentbench.test_runs.model import CaseResult
from agentbench.test_runs.runner import BaseContent, Protected, ProtectedFiles, RunRequest
from agentbench.test_runs.stream import lines_of

_PACKAGES = "packages"
_MAX_OUTPUT = 20_000  # characters of a test that are kept
_RUNNING = re.compile(r"\s+Running (?:unittests )?(?P<file>\S+) \((?P<program>.+)\)")
_DOC_TESTS = re.compile(r"\s+Doc-tests (?P<crate>\S+)")
_BEGIN = re.compile(r"running (?P<count>\d+) tests?$")
_END = re.compile(r"test result: (?:ok|FAILED)\. ")
_TEST = re.compile(
    r"test (?P<name>.+?)(?P<panics> - should panic)?(?P<fails> - compile(?: fail)?)? \.\.\. "
    r"(?P<outcome>ok|FAILED|ignored)(?:, (?P<why>.*))?(?: <[\d.]+s>)?$"
)
_LISTED = re.compile(r"(?P<name>.+): test$")
_OUTPUT = re.compile(r"---- (?P<name>.+) stdout ----$")
_ERROR = re.compile(r"error(?:\[(?P<code>E\d+)\])?: (?P<what>.+)")
_WHERE = re.compile(r"\s+--> (?P<file>[^:\n]+):(?P<line>\d+):\d+")
_PACKAGE = re.compile(r"\./(?P<file>[^:\n]+):name\s*=\s*\"(?P<name>[^\"]+)\"")
_OUTCOMES = {
    "ok": CaseOutcome.PASSED,
    "FAILED": CaseOutcome.FAILED,
    "ignored": CaseOutcome.SKIPPED,
}
# What cargo says after the tests themselves.
_SUMMARIES = ("test failed", "target failed", "targets failed", "doctest failed", "aborting due")


class CargoRunner(ExternalRunner):
    """Rust's own tests."""

    # A sandbox without a network would wait for the registry again and again.
    env = MappingProxyType({"CI": "true", "CARGO_TERM_COLOR": "never", "CARGO_NET_OFFLINE": "true"})
    report_files = MappingProxyType({OUTPUT_FILE: 256 << 20, _PACKAGES: 16 << 20})
    before = (
        "find . -name Cargo.toml -type f -not -path './target/*' -exec "
        'grep -HE \'^name *= *"\' {} + >"$results/packages"'
    )

    def command(
        self, _sandbox: Sandbox, request: RunRequest, _results: PurePosixPath
    ) -> Iterator[str]:
        words = list(self._command.words)
        at = words.index("--") if "--" in words else len(words)
        yield from words[:at]
        files = [file_of(NodeId(t)) if is_node_id(t) else t for t in request.targets]
        yield from _selected(files)
        if request.max_failures is None:
            yield "--no-fail-fast"
        yield from ("--", *words[at + 1 :])
        names = [name_in_file(NodeId(each)) for each in request.targets if is_node_id(each)]
        if names and len(names) == len(request.targets):
            yield from (*dict.fromkeys(names), "--exact")
        if request.keyword is not None:
            yield request.keyword
        if request.collect_only:
            yield "--list"

    def report(self, files: Mapping[str, str], request: RunRequest) -> ExternalReport:
        folders = {
            one["name"].replace("-", "_"): PurePosixPath(one["file"]).parent
            for one in _PACKAGE.finditer(files.get(_PACKAGES, ""))
        }
        reader = _LineReader(folders)
        for line in lines_of(files.get(OUTPUT_FILE, "")):
            reader.read(line.rstrip("\r\n"))
        return reader.report(collect_only=request.collect_only)

    def name_in_source(self, node_id: NodeId) -> str:
        return name_in_file(node_id).rpartition("::")[2]

    def is_test_file(self, path: PurePosixPath) -> bool:
        return _is_test(path)

    def protection(self, _base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return CargoTestFiles()


def _selected(files: Iterable[str]) -> Iterator[str]:
    """The options that select test programs by their files; none if one has no option."""
    options: dict[tuple[str, ...], None] = {}
    for file in files:
        path = PurePosixPath(file)
        if path.parent.name == "tests" and path.suffix == ".rs":
            options["--test", path.stem] = None
        elif path.name == "main.rs" and path.parent.name == "tests":
            options["--test", path.parent.parent.name] = None
        elif path.name == "lib.rs":
            options[("--lib",)] = None
        else:
            return
    for option in options:
        yield from option


class _LineReader:
    """Reads the lines of one run: cargo's, the compiler's, and those of the test programs."""

    def __init__(self, folders: Mapping[str, PurePosixPath]) -> None:
        self._folders = folders
        self._report = ExternalReport(source=ReportSource.JSON_REPORT)
        self._file = ""
        self._left: int | None = None  # tests that the program still has to report
        self._is_whole = True
        self._programs = 0
        self._error = ""
        self._outputs: dict[NodeId, list[str]] = {}
        self._current: list[str] | None = None  # of the test whose output is printed

    def read(self, line: str) -> None:
        if (begun := _RUNNING.match(line)) is not None:
            self._begin(self._path(begun["file"], begun["program"]))
        elif (documented := _DOC_TESTS.match(line)) is not None:
            # The names of these tests have their files: `src/lib.rs - f (line 3)`.
            self._begin("")
            self._file = str(self._folders.get(documented["crate"], PurePosixPath()))
        elif (count := _BEGIN.match(line)) is not None:
            self._left = int(count["count"])
        elif self._left is not None and (test := _TEST.match(line)) is not None:
            self._add(test)
        elif (listed := _LISTED.match(line)) is not None and self._left is None and self._file:
            self._report.listed.append(self._id(listed["name"]))
        elif _END.match(line) is not None:
            self._is_whole = self._is_whole and self._left == 0
            self._left = None
            self._current = None
        elif (output := _OUTPUT.match(line)) is not None and self._left is not None:
            self._current = self._outputs.setdefault(self._id(output["name"]), [])
        elif self._current is not None:
            if sum(map(len, self._current)) < _MAX_OUTPUT:
                self._current.append(line)
        else:
            self._of_compiler(line)

    def _path(self, file: str, program: str) -> str:
        """The path of a program's root in the repository; cargo gives it in its package."""
        crate = PurePosixPath(program).name.rpartition("-")[0]
        candidates = [folder / file for folder in self._folders.values()]
        own = self._folders.get(crate)
        if own is not None and file.startswith("src/"):
            return str(own / file)
        return str(candidates[0]) if len(candidates) == 1 else file

    def _begin(self, file: str) -> None:
        # A program that ends early prints no result.
        self._is_whole = self._is_whole and self._left is None
        self._file, self._left, self._current = file, None, None
        self._programs += 1
        self._report.started = True

    def _id(self, name: str) -> NodeId:
        documented = re.match(r"(?P<file>\S+\.(?:rs|md)) - (?P<rest>.*)", name)
        if documented is not None:
            return node_id_of(str(PurePosixPath(self._file, documented["file"])), name)
        return node_id_of(self._file, name)

    def _add(self, test: re.Match[str]) -> None:
        assert self._left is not None
        self._left -= 1
        name = test["name"]
        self._report.cases.append(
            CaseResult(
                node_id=self._id(name),
                outcome=_OUTCOMES[test["outcome"]],
                duration=0.0,
                message=test["why"],
                names=(name,),
            )
        )

    def _of_compiler(self, line: str) -> None:
        if (error := _ERROR.match(line)) is not None:
            what = error["what"]
            if not any(words in what for words in _SUMMARIES):
                self._error = f"{error['code']}: {what}" if error["code"] else what
                self._report.detail = self._report.detail or what[:300]
        elif self._error and (where := _WHERE.match(line)) is not None:
            code, _, what = self._error.rpartition(": ") if self._error[:1] == "E" else ("", "", "")
            message = what or self._error
            self._report.add_error(where["file"], int(where["line"]), message[:300], code)
            self._error = ""

    def report(self, *, collect_only: bool) -> ExternalReport:
        report = self._report
        report.finished = self._programs > 0 and self._is_whole and self._left is None
        with_output = []
        for case in report.cases:
            lines = self._outputs.get(case.node_id)
            if lines is not None and case.outcome is CaseOutcome.FAILED:
                text = "\n".join(lines).strip()[:_MAX_OUTPUT]
                case = CaseResult(
                    node_id=case.node_id,
                    outcome=case.outcome,
                    duration=case.duration,
                    message=_message(text),
                    traceback=text,
                    names=case.names,
                )
            with_output.append(case)
        report.cases = [] if collect_only else with_output
        return report


def _message(output: str) -> str | None:
    """What a test panicked with: the line after the one that says where."""
    lines = [line for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if " panicked at " in line:
            return (lines[number + 1 : number + 2] or [line])[0].strip()[:300]
    return lines[0].strip()[:300] if lines else None


def _is_test(path: PurePosixPath) -> bool:
    return path.suffix == ".rs" and ("tests" in path.parts or path.stem in {"test", "tests"})


class CargoTestFiles(ExternalFiles):
    """The files that steer Rust's tests."""

    def steers(self, path: PurePosixPath) -> Protected | None:
        if ".cargo" in path.parts or path.name in {"rust-toolchain", "rust-toolchain.toml"}:
            return Protected("configuration of the build", tampers=True)
        if path.name == "build.rs":
            return Protected("runs before the tests are built", tampers=True)
        if "vendor" in path.parts:
            return Protected("code of others, which the tests use, too", tampers=False)
        return None

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """Cargo.toml keeps the base's targets, profiles and replaced crates."""
        if path.name != "Cargo.toml" or after is None:
            return None
        if _steering_tables(base(path) or b"") == _steering_tables(after):
            return None
        return None, Protected("its targets or replaced crates differ from the base", tampers=True)

    def configures(self, path: PurePosixPath) -> bool:
        return path.name == "Cargo.toml" or ".cargo" in path.parts

    def is_test(self, path: PurePosixPath) -> bool:
        return _is_test(path)


def _steering_tables(content: bytes) -> str | None:
    """The tables of Cargo.toml that decide what the tests are and use; None: it cannot be read."""
    try:
        document = tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    names = ("lib", "test", "bench", "bin", "example", "patch", "replace", "profile", "workspace")
    package = document.get("package")
    build = package.get("build") if isinstance(package, dict) else None
    dev = document.get("dev-dependencies")
    return repr([document.get(name) for name in names] + [build, dev])
