"""`cargo test`: its command, the lines that its test programs print, and the files that steer it.

A test's id is `FILE::module::name`: the file is the root of the test program, `src/lib.rs` or
`tests/a.rs`. A test in the documentation has the name that rustdoc gives it. The stable compiler
has no other report than these lines.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
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
_SOURCES = "sources"
_MAX_OUTPUT = 20_000  # characters of a test that are kept
_RUNNING = re.compile(r"\s+Running (?:unittests )?(?P<file>\S+) \((?P<program>.+)\)")
_DOC_TESTS = re.compile(r"\s+Doc-tests (?P<crate>\S+)")
_BEGIN = re.compile(r"running (?P<count>\d+) tests?$")
_END = re.compile(
    r"test result: (?:ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; "
    r"(?P<ignored>\d+) ignored; "
)
_OUTCOME = r"(?P<outcome>ok|FAILED|ignored)(?:, (?P<why>.*))?(?: <[\d.]+s>)?$"
_NAME = r"test (?P<name>.+?)(?: - should panic| - compile(?: fail)?)* \.\.\. "
_TEST = re.compile(f"{_NAME}{_OUTCOME}")
_STARTED = re.compile(_NAME)
_LATER_OUTCOME = re.compile(rf".*?{_OUTCOME}")
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
_NOT_BUILT = (
    "could not compile", "failed to run custom build command", "linking with",
    "failed to parse manifest",
)  # fmt: skip
# What cargo says after the tests themselves.
_SUMMARIES = ("test failed", "target failed", "targets failed", "doctest failed", "aborting due")
_DOC_TEST = re.compile(r"(?P<file>\S+\.(?:rs|md)) - .*\(line \d+\)$")
# Options that change what the test programs print.
_ABOUT_OUTPUT = frozenset({"-q", "--quiet", "--nocapture", "--no-capture", "--show-output"})


class CargoRunner(ExternalRunner):
    """Rust's own tests."""

    # A sandbox without a network would wait for the registry again and again.
    env = MappingProxyType(
        {"CI": "true", "CARGO_TERM_COLOR": "never", "CARGO_NET_OFFLINE": "true",
         "RUST_BACKTRACE": "0"}
    )  # fmt: skip
    report_files = MappingProxyType(
        {OUTPUT_FILE: 256 << 20, _PACKAGES: 16 << 20, _SOURCES: 16 << 20}
    )
    before = (
        "find . -name Cargo.toml -type f -not -path './target/*' -exec "
        'grep -HE \'^name *= *"\' {} + >"$results/packages"; '
        "find . -name '*.rs' -type f -not -path './target/*' >\"$results/sources\""
    )

    def command(
        self, _sandbox: Sandbox, request: RunRequest, _results: PurePosixPath
    ) -> Iterator[str]:
        words = list(self._command.words)
        at = words.index("--") if "--" in words else len(words)
        left_out = {*_ABOUT_OUTPUT, "--no-fail-fast"}
        yield from (word for word in words[:at] if word not in left_out)
        names = [name_in_file(NodeId(each)) for each in request.targets if is_node_id(each)]
        # Tests in the documentation belong to no target, and rustdoc splits names at blanks.
        has_doc_tests = any(map(_DOC_TEST.match, names))
        if not has_doc_tests:
            files = [file_of(NodeId(t)) if is_node_id(t) else t for t in request.targets]
            yield from _selected(files)
        if request.max_failures is None:
            yield "--no-fail-fast"
        yield from ("--", *(word for word in words[at + 1 :] if word not in _ABOUT_OUTPUT))
        if names and len(names) == len(request.targets) and not has_doc_tests:
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
        sources = frozenset(map(str.strip, files.get(_SOURCES, "").splitlines()))
        reader = _LineReader(folders, sources)
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
        if path.parts == ("tests", path.name) and path.suffix == ".rs":
            options["--test", path.stem] = None
        elif path.parts == ("src", "lib.rs"):
            options[("--lib",)] = None
        else:
            return  # of a package of a workspace, whose name is not known here
    for option in options:
        yield from option


class _LineReader:
    """Reads the lines of one run: cargo's, the compiler's, and those of the test programs."""

    def __init__(self, folders: Mapping[str, PurePosixPath], sources: Collection[str]) -> None:
        self._folders = folders
        self._sources = sources
        self._report = ExternalReport(source=ReportSource.JSON_REPORT)
        self._package = PurePosixPath()  # the folder of the current one
        self._file = ""
        self._left: int | None = None  # tests that the program still has to report
        self._counts: Counter[CaseOutcome] = Counter()  # of the program
        self._pending = ""  # a test whose outcome was not printed yet
        self._later: re.Match[str] | None = None  # its outcome, unless it printed that itself
        self._is_whole = True
        self._error = ""
        self._not_built = ""
        self._outputs: dict[NodeId, list[str]] = {}
        self._current: list[str] | None = None  # of the test whose output is printed

    def read(self, line: str) -> None:
        if (begun := _RUNNING.match(line)) is not None:
            self._begin(self._path(begun["file"], begun["program"]))
        elif (documented := _DOC_TESTS.match(line)) is not None:
            # The names of these tests have their files: `src/lib.rs - f (line 3)`.
            self._package = self._folders.get(documented["crate"], PurePosixPath())
            self._begin(str(self._package))
        elif self._left is None:
            self._outside(line)
        elif (ended := _END.match(line)) is not None:
            self._end_pending()
            printed = [int(ended[name]) for name in ("passed", "failed", "ignored")]
            counted = [self._counts[one] for one in _OUTCOMES.values()]
            self._is_whole = self._is_whole and self._left == 0 and printed == counted
            self._left = self._current = None
        elif self._left > 0:
            self._result(line)
        elif (output := _OUTPUT.match(line)) is not None:
            self._current = self._outputs.setdefault(self._id(output["name"]), [])
        elif self._current is not None and sum(map(len, self._current)) < _MAX_OUTPUT:
            self._current.append(line)

    def _outside(self, line: str) -> None:
        """A line between the programs, or of one that has not said how many tests it has."""
        if (count := _BEGIN.match(line)) is not None and self._report.started:
            self._left = int(count["count"])
            self._counts.clear()
        elif (listed := _LISTED.match(line)) is not None and self._report.started:
            self._report.listed.append(self._id(listed["name"]))
        elif (error := _ERROR.match(line)) is not None:
            what = error["what"]
            if any(words in what for words in _NOT_BUILT):
                self._not_built = what
            if not any(words in what for words in _SUMMARIES):
                self._error = f"{error['code']}: {what}" if error["code"] else what
                self._report.detail = self._report.detail or what[:300]
        elif self._error and (where := _WHERE.match(line)) is not None:
            code, _, what = self._error.rpartition(": ") if self._error[:1] == "E" else ("", "", "")
            message = what or self._error
            self._report.add_error(where["file"], int(where["line"]), message[:300], code)
            self._error = ""

    def _result(self, line: str) -> None:
        """A line of a program that has not reported all of its tests."""
        begun = _STARTED.match(line)
        if begun is not None and (not self._pending or self._later is not None):
            self._end_pending()
            if self._left and (test := _TEST.match(line)) is not None:
                self._add(test["name"], test)
            elif self._left:
                # With one thread the name comes first, and what the test prints is between.
                self._pending, self._later = begun["name"], _LATER_OUTCOME.match(line)
        elif self._pending and line == "failures:" and self._later is not None:
            self._end_pending()
        elif self._pending:
            # The test may print such a word, too: the last one is of its runner.
            self._later = _LATER_OUTCOME.match(line) or self._later

    def _end_pending(self) -> None:
        if self._pending:
            self._add(self._pending, self._later)
        self._pending, self._later = "", None

    def _path(self, file: str, program: str) -> str:
        """The path of a program's root in the repository; cargo gives it in its package."""
        crate = PurePosixPath(program).name.rpartition("-")[0]
        own = self._folders.get(crate)
        if own is not None and file.startswith("src/"):
            self._package = own
        # An integration test follows the library of its package, whose name it lacks.
        folders = [self._package, *dict.fromkeys(self._folders.values())]
        found = (each for each in folders if f"./{each / file}" in self._sources)
        self._package = next(found, self._package)
        return str(self._package / file)

    def _begin(self, file: str) -> None:
        self._end_early()
        self._file, self._current = file, None
        self._report.started = True

    def _end_early(self) -> None:
        """A program that ends early prints no result."""
        self._is_whole = self._is_whole and self._left is None
        self._later = None
        self._end_pending()
        self._left = None

    def _id(self, name: str) -> NodeId:
        documented = _DOC_TEST.match(name)
        if documented is not None:
            return node_id_of(str(PurePosixPath(self._file, documented["file"])), name)
        return node_id_of(self._file, name)

    def _add(self, name: str, found: re.Match[str] | None) -> None:
        assert self._left is not None
        self._left -= 1
        outcome = CaseOutcome.UNFINISHED if found is None else _OUTCOMES[found["outcome"]]
        self._counts[outcome] += 1
        self._report.cases.append(
            CaseResult(
                node_id=self._id(name),
                outcome=outcome,
                duration=0.0,
                message="its program ended during it" if found is None else found["why"],
                names=(name,),
            )
        )

    def report(self, *, collect_only: bool) -> ExternalReport:
        self._end_early()
        report = self._report
        report.finished = report.started and self._is_whole
        if self._not_built and not report.errors:
            report.add_error("Cargo.toml", None, report.detail or self._not_built, "cargo")
        report.cases = [] if collect_only else [self._with_output(each) for each in report.cases]
        return report

    def _with_output(self, case: CaseResult) -> CaseResult:
        lines = self._outputs.get(case.node_id)
        if lines is None or case.outcome is not CaseOutcome.FAILED:
            return case
        text = "\n".join(lines).strip()[:_MAX_OUTPUT]
        return replace(case, message=_message(text), traceback=text)


def _message(output: str) -> str | None:
    """What a test panicked with."""
    lines = [line for line in output.splitlines() if line.strip()]
    if lines and lines[0].startswith("Error: "):  # a test's own result
        return lines[0].strip()[:300]
    for number, line in enumerate(lines):
        if " panicked at '" in line:  # before Rust 1.73
            return line.partition(" panicked at '")[2].strip()[:300]
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
        if path.parts[0] == "vendor":
            return Protected("code of others, which the tests use, too", tampers=False)
        return None

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """Cargo.toml keeps the base's targets, profiles and replaced crates."""
        if path.name != "Cargo.toml" or after is None:
            return None
        before, now = _steering_tables(base(path) or b""), _steering_tables(after)
        if before is None or now is None or before == now:
            return None  # what cargo cannot read makes no test pass
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
    names = ("lib", "test", "patch", "replace", "profile", "dev-dependencies", "target")
    package = document.get("package")
    keys = ("build", "autotests", "name")
    of_package = [package.get(key) for key in keys] if isinstance(package, dict) else None
    return repr([document.get(name) for name in names] + [of_package])
