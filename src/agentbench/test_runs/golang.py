"""`go test -json`: its command, its events, and the files that steer it.

A test's id is `FILE::TestName/subtest`. Go reports packages and not files, so that the functions
are looked up in the sources before the tests run.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
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
from agentbench.test_runs.stream import LINE_LIMIT, lines_of

_FUNCTIONS = "functions"
_MODULES = "modules"
_SOURCES_LIMIT = 16 << 20  # bytes
_MAX_OUTPUT = 20_000  # characters of a test that are kept, from its end
_MAX_LINES = 5_000  # of the whole output, likewise
_FUNCTION = re.compile(r"\./(?P<file>[^:\n]+):func (?P<name>\w+)\(")
_MODULE = re.compile(r"\./(?P<file>[^:\n]+):module\s+\"?(?P<name>[^\s\"]+)")
_COMPILE_ERROR = re.compile(
    r"(?:vet: )?(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+)(?::\d+)?: (?P<what>.+)"
)
_BROKEN_PACKAGE = re.compile(r"FAIL\t(?P<package>\S+) \[(?:build|setup) failed\]")
_OUTCOMES = {
    "pass": CaseOutcome.PASSED,
    "fail": CaseOutcome.FAILED,
    "skip": CaseOutcome.SKIPPED,
}
_PRINTED = {"PASS": CaseOutcome.PASSED, "FAIL": CaseOutcome.FAILED, "SKIP": CaseOutcome.SKIPPED}
_NO_SOURCE = "unknown_test.go"


class GoRunner(ExternalRunner):
    """Go's own tests."""

    report_files = MappingProxyType(
        {OUTPUT_FILE: 256 << 20, _FUNCTIONS: _SOURCES_LIMIT, _MODULES: _SOURCES_LIMIT}
    )
    before = (
        "find . -name '*_test.go' -type f -exec "
        "grep -HEo '^func (Test|Benchmark|Fuzz|Example)[A-Za-z0-9_]*[(]' {} + "
        '>"$results/functions"; '
        "find . -name go.mod -type f -exec grep -HE '^module ' {} + "
        '>"$results/modules"'
    )

    def command(
        self, _sandbox: Sandbox, request: RunRequest, _results: PurePosixPath
    ) -> Iterator[str]:
        go, test, *words = self._command.words
        options, packages, arguments = _split(words)
        folder = options.pop("-C", None)
        if folder is not None:  # older versions of Go lack this option
            yield from ("sh", "-c", 'cd -- "$1" && shift && exec "$@"', "go", folder)
        yield from (go, test, "-json", "-count=1")  # a stored result is none of this run
        for name, value in options.items():
            if name not in {"-json", "-count"}:
                yield name if value is None else f"{name}={value}"
        names = [name_in_file(NodeId(each)) for each in request.targets if is_node_id(each)]
        if request.collect_only:
            yield "-list=."
        elif names:
            yield f"-run={_pattern_of(names)}"
        if request.keyword is not None:
            yield f"-run={request.keyword}"
        if request.max_failures is not None:
            yield "-failfast"
        yield from _packages_of(request.targets, folder or ".") or packages or ["./..."]
        yield from arguments

    def report(self, files: Mapping[str, str], request: RunRequest) -> ExternalReport:
        reader = _EventReader(_Sources.read(files))
        for line in lines_of(files.get(OUTPUT_FILE, "")):
            reader.read(line)
        return reader.report(collect_only=request.collect_only)

    def name_in_source(self, node_id: NodeId) -> str:
        return name_in_file(node_id).partition("/")[0]

    def is_test_file(self, path: PurePosixPath) -> bool:
        return _is_test(path)

    def protection(self, _base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return GoTestFiles()


# All other options of `go test` have a value, which may be the next word.
_SWITCHES = frozenset(
    {"-a", "-asan", "-benchmem", "-buildvcs", "-c", "-cover", "-failfast", "-fullpath", "-i",
     "-json", "-linkshared", "-modcacherw", "-msan", "-n", "-race", "-short", "-trimpath", "-v",
     "-work", "-x"}
)  # fmt: skip


def _split(words: Iterable[str]) -> tuple[dict[str, str | None], list[str], list[str]]:
    """The options of `go test`, its packages, and the arguments of the test programs."""
    options: dict[str, str | None] = {}
    packages: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in {"-args", "--args"}:
            return options, packages, [word, *rest]
        if not word.startswith("-"):
            packages.append(word)
            continue
        name, equals, value = word.partition("=")
        name = f"-{name.lstrip('-')}".replace("-test.", "-")
        options[name] = value if equals else None if name in _SWITCHES else next(rest, "")
    return options, packages, []


def _packages_of(targets: Iterable[str], start: str) -> list[str]:
    """The packages of files, folders and ids of tests, for a command in the folder `start`."""
    packages: dict[str, None] = {}
    for target in targets:
        path = PurePosixPath(file_of(NodeId(target)) if is_node_id(target) else target)
        folder = path.parent if path.suffix == ".go" else path
        if folder.is_relative_to(start):
            folder = folder.relative_to(start)
        # A folder stands for all below it.
        packages[f"./{folder}" if path.suffix == ".go" else f"./{folder}/..."] = None
    return list(packages)


def _pattern_of(names: Iterable[str]) -> str:
    """The pattern of `-run` for the functions of some tests, with all of their subtests."""
    tests = dict.fromkeys(name.partition("/")[0] for name in names)
    return "|".join(f"^{re.escape(name)}$" for name in tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The functions of test files, by the folders of their packages."""

    files: Mapping[tuple[str, str], str]
    """The file of each function, by its folder and its name."""

    modules: Mapping[str, str]
    """The folder of each module, by its name."""

    @classmethod
    def read(cls, files: Mapping[str, str]) -> "_Sources":
        found: dict[tuple[str, str], str] = {}
        for one in sorted(_FUNCTION.finditer(files.get(_FUNCTIONS, "")), key=lambda m: m["file"]):
            folder = str(PurePosixPath(one["file"]).parent)
            found.setdefault((folder, one["name"]), one["file"])
        modules = {
            one["name"]: str(PurePosixPath(one["file"]).parent)
            for one in _MODULE.finditer(files.get(_MODULES, ""))
        }
        return cls(files=found, modules=modules)

    def folder_of(self, package: str) -> str:
        """The folder of a package."""
        for module, folder in sorted(self.modules.items(), key=lambda one: -len(one[0])):
            if package == module or package.startswith(f"{module}/"):
                below = package.removeprefix(module).strip("/")
                return str(PurePosixPath(folder, below))
        # Without modules, in GOPATH, the longest folder that its path ends with.
        folders = sorted({folder for folder, _ in self.files}, key=lambda folder: -len(folder))
        return next((each for each in folders if package.endswith(f"/{each}")), ".")

    def id_of(self, package: str, test: str) -> NodeId:
        folder = self.folder_of(package)
        file = self.files.get((folder, test.partition("/")[0]))
        return node_id_of(file or str(PurePosixPath(folder, _NO_SOURCE)), test)


@dataclass(slots=True)
class _RunningTest:
    output: str = ""
    elapsed: float = 0.0
    printed: CaseOutcome | None = None
    is_open: bool = True


@dataclass(slots=True)
class _EventReader:
    """Reads the events of one run, and the lines of the compiler between them."""

    sources: _Sources
    tests: dict[tuple[str, str], _RunningTest] = field(default_factory=dict)
    open_packages: dict[str, None] = field(default_factory=dict)
    ended_packages: dict[str, None] = field(default_factory=dict)
    failed_packages: set[str] = field(default_factory=set)  # with a test that failed
    result: ExternalReport = field(
        default_factory=lambda: ExternalReport(source=ReportSource.JSON_REPORT)
    )
    last_lines: dict[str, str] = field(default_factory=dict)  # that packages printed
    output: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_LINES))
    detail: str = ""
    has_empty_pattern: bool = False  # whether the command names a folder without packages

    def read(self, line: str) -> None:
        is_event = line.startswith('{"') and len(line) <= LINE_LIMIT
        event = untrusted_json.json_object(line) if is_event else None
        if event is None:
            self.output.append(line[:_MAX_OUTPUT])
            self._printed(line.rstrip("\n"))
            return
        self.output.append(untrusted_json.text(event.get("Output"), _MAX_OUTPUT))
        action, package = event.get("Action"), untrusted_json.text(event.get("Package"), 1000)
        if action == "build-output":  # since Go 1.24
            self._printed(untrusted_json.text(event.get("Output"), 1000).rstrip("\n"))
        elif package.startswith("."):
            self.has_empty_pattern = True  # since Go 1.24 it ends like a package
        elif package:
            self.result.started = True
            self._event(str(action), package, event)

    def _event(self, action: str, package: str, event: JsonObject) -> None:
        name = untrusted_json.text(event.get("Test"), 4096)
        output = untrusted_json.text(event.get("Output"))
        if not name:
            if action in _OUTCOMES:
                self.open_packages.pop(package, None)
                self.ended_packages[package] = None
                if "FailedBuild" in event:  # since Go 1.24
                    self._broken(package)
                elif action == "fail" and package not in self.failed_packages:
                    self._failed_outside(package)
            elif package not in self.ended_packages:
                self.open_packages[package] = None
            if action == "output":
                self._of_package(package, output)
            return
        if package not in self.ended_packages:
            self.open_packages[package] = None
        test = self.tests.get((package, name))
        if action == "run":
            if test is not None and test.is_open:
                self._add(package, name, test, None)  # it never ended
            self.tests[package, name] = _RunningTest()
        elif action == "output" and test is not None:
            test.output = (test.output + output)[-_MAX_OUTPUT:]
            # Without a line break before it, Go does not see its own line.
            ended = re.search(rf"--- (PASS|FAIL|SKIP): {re.escape(name)} \(", output)
            if ended is not None:
                test.printed = _PRINTED[ended[1]]
        elif action in _OUTCOMES:
            if test is None:
                return  # a test printed it: older versions of Go take such a line for their own
            if action == "fail":
                self.failed_packages.add(package)
            if not test.is_open:
                self._add(package, name, test, CaseOutcome.UNFINISHED)  # one of both is not Go's
                return
            test.elapsed = untrusted_json.seconds(event.get("Elapsed"))
            test.is_open = False
            self._add(package, name, test, _OUTCOMES[action])

    def _add(
        self, package: str, name: str, test: _RunningTest, outcome: CaseOutcome | None
    ) -> None:
        found = outcome or test.printed or CaseOutcome.UNFINISHED
        has_failed = found in {CaseOutcome.FAILED, CaseOutcome.UNFINISHED}
        self.result.cases.append(
            CaseResult(
                node_id=self.sources.id_of(package, name),
                outcome=found,
                duration=test.elapsed,
                message=_message(test.output) if has_failed else None,
                traceback=test.output if has_failed else None,
                names=(name,),
            )
        )

    def _of_package(self, package: str, output: str) -> None:
        text = output.strip()
        if text and not text.startswith(("FAIL", "PASS", "ok ", "exit status")):
            self.last_lines[package] = text[:300]
        if _BROKEN_PACKAGE.match(text):
            self._broken(package)
        elif text.startswith(("panic: ", "fatal error: ", "signal: ")) and not self.detail:
            self.detail = text[:300]
        elif re.fullmatch(r"(Test|Benchmark|Fuzz|Example)\w*", text):  # of `-list`
            self.result.listed.append(self.sources.id_of(package, text))

    def _printed(self, line: str) -> None:
        """A line that is no event: of the compiler, of vet, or of go itself."""
        self.result.started = True
        if (broken := _BROKEN_PACKAGE.match(line)) is not None:
            self._broken(broken["package"])
        elif (error := _COMPILE_ERROR.match(line)) is not None:
            file = error["file"].removeprefix("./")
            self.result.add_error(file, int(error["line"]), error["what"][:300], "compile error")
        elif line.strip() and not line.startswith(("#", "FAIL", "ok ", "?")) and not self.detail:
            self.detail = line.strip()[:300]

    def _failed_outside(self, package: str) -> None:
        """A package that failed without a test of it: by TestMain, or during a test."""
        if not any(test.is_open for (own, _), test in self.tests.items() if own == package):
            message = self.last_lines.get(package, "the package failed, and no test of it")
            self.result.add_error(self.sources.folder_of(package), None, message, "go")

    def _broken(self, package: str) -> None:
        self.open_packages.pop(package, None)
        self.ended_packages[package] = None
        if not self.result.errors:
            folder = self.sources.folder_of(package)
            self.result.add_error(folder, None, self.detail or "it could not be built", "go")

    def report(self, *, collect_only: bool) -> ExternalReport:
        result = self.result
        for (package, name), test in self.tests.items():
            if test.is_open:
                self._add(package, name, test, None)
        result.finished = bool(self.ended_packages) and not self.open_packages
        if collect_only:
            result.cases.clear()
            # Go prints the packages as they are built: their order says nothing.
            result.listed.sort(key=lambda node_id: PurePosixPath(file_of(node_id)).parent)
        if not self.ended_packages and not self.open_packages and not result.errors:
            result.started = False  # go itself refused: its last line says why
        elif self.has_empty_pattern:
            result.add_error(".", None, self.detail or "no packages", "go")
        result.detail = self.detail or None
        result.printed = "".join(self.output)
        return result


def _message(output: str) -> str | None:
    """The first line of a test's own output, without Go's lines around it."""
    lines = (line.strip() for line in output.splitlines())
    own = [line for line in lines if line and not line.startswith(("=== ", "--- "))]
    panics = [line for line in own if line.startswith("panic: ")]
    return next(iter(panics or own), None)


class GoTestFiles(ExternalFiles):
    """The files that steer Go's tests."""

    def steers(self, path: PurePosixPath) -> Protected | None:
        if "vendor" in path.parts:
            return Protected("code of others, which the tests use, too", tampers=False)
        if path.name in {"go.work", "go.work.sum"}:
            return Protected("configuration of the build", tampers=True)
        return None

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """go.mod keeps the agent's requirements, and the base's replacements and tools."""
        if path.name != "go.mod" or after is None:
            return None
        before, now = _replacements(base(path) or b""), _replacements(after)
        if now == before:
            return None
        # What replaces the module of an assertion library decides which tests pass.
        return None, Protected("replaces modules in another way than the base", tampers=True)

    def configures(self, path: PurePosixPath) -> bool:
        return path.name in {"go.work", "go.mod"}

    def is_test(self, path: PurePosixPath) -> bool:
        return _is_test(path)


def _is_test(path: PurePosixPath) -> bool:
    return path.name.endswith("_test.go") or "testdata" in path.parts


def _replacements(content: bytes) -> list[str]:
    """The lines of go.mod that name other places of modules, without comments and spaces."""
    text = re.sub(r"//[^\n]*", "", content.decode("utf-8", "replace"))
    found: list[str] = []
    is_inside = False
    for line in map(str.strip, text.splitlines()):
        if is_inside:
            is_inside = line != ")"
            found += [" ".join(line.split())] if is_inside and line else []
        elif (words := line.split())[:1] in (["replace"], ["toolchain"], ["godebug"]):
            is_inside = words[1:] == ["("]
            found += [] if is_inside else [" ".join(words[1:])]
    return sorted(found)
