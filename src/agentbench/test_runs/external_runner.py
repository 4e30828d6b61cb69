"""What the runners of other languages have in common: a command, its report, and its outcome.

The code under test can reach whatever these programs write, so that their reports have the trust
`EXTERNAL_REPORT`: they count only where exit code, report and the listed tests agree.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import ClassVar, assert_never

from agentbench.sandbox.interface import ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    CollectionFact,
    CommandResult,
    Ending,
    NodeId,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.scoring.node_ids import name_in_file
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs import parse
from agentbench.test_runs.model import CaseResult, CollectionError, ReportedSession
from agentbench.test_runs.report_files import read_files
from agentbench.test_runs.runner import (
    BaseContent,
    Protected,
    ProtectedFiles,
    RunRequest,
    TestRun,
)

OUTPUT_FILE = "output"
"""What the command printed on both streams, in the folder of results."""

_OUTPUT_LIMIT = 256 << 20  # bytes
_MAX_CODE = 128  # a shell adds the signal to it
_NO_PROGRAM = {
    126: "the program of the tests may not be executed (exit 126)",
    127: "there is no such program (exit 127)",
}
# The output goes on to the log while it is kept. A process that the tests leave behind may hold the
# pipe open for ever, so that `tee` gets some seconds for what the pipe still contains.
_SCRIPT = """\
results=$1 before=$2 after=$3
shift 3
mkdir -p -- "$results" && mkfifo -- "$results/pipe" || exit 126
eval "$before"
tee -- "$results/output" <"$results/pipe" &
tee=$!
exec 3>"$results/pipe"
rm -f -- "$results/pipe"
"$@" >&3 2>&3 3>&-
code=$?
exec 3>&-
{ sleep 5; kill "$tee"; } >/dev/null 2>&1 &
wait "$tee"
eval "$after"
exit "$code"
"""


@dataclass(slots=True, kw_only=True)
class ExternalReport:
    """What the report of a run says; a parser fills it."""

    source: ReportSource
    started: bool = False  # whether the tool ran at all
    finished: bool = False  # whether the report is whole: every test that began also ended
    cases: list[CaseResult] = field(default_factory=list)
    """A test that is reported twice is in it twice, which is no evidence."""

    errors: list[CollectionError] = field(default_factory=list)
    """Files that could not be compiled or loaded."""

    listed: list[NodeId] = field(default_factory=list)  # by a run that only collects
    detail: str | None = None  # why it ended, as the tool says it
    forged: list[str] = field(default_factory=list)  # signs that the report was tampered with
    printed: str = ""  # the output for people, where the command printed it for programs

    def add_error(self, file: str, line: int | None, message: str, error: str = "") -> None:
        """Add a file that could not be compiled or loaded, once."""
        fact = CollectionFact(file=file, error=error, path=file, line=line, message=message)
        if all(known.file != file for known in self.errors):
            self.errors.append(CollectionError(file=file, message=message, fact=fact))


class ExternalRunner(ABC):
    """A runner of another language. Each has a module with its command and its parser."""

    trust = ReportTrust.EXTERNAL_REPORT
    env: Mapping[str, str] = MappingProxyType({"CI": "true", "NO_COLOR": "1"})
    report_files: ClassVar[Mapping[str, int]] = MappingProxyType({OUTPUT_FILE: _OUTPUT_LIMIT})
    """The files of a run in its folder of results, each with its largest size in bytes."""

    before: str = ""
    """Shell commands before the tests, when no code of the project has run; `$results`."""

    def __init__(self, command: TestCommand) -> None:
        self._command = command

    @property
    def name(self) -> str:
        return self._command.runner.value

    @abstractmethod
    def command(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterable[str]:
        """The program and its arguments; see `TestRunner.arguments`."""

    @abstractmethod
    def report(self, files: Mapping[str, str], request: RunRequest) -> ExternalReport:
        """Parse the files of a run; each may be missing, damaged or forged."""

    @abstractmethod
    def is_test_file(self, path: PurePosixPath) -> bool:
        """Whether a file has the name of a test."""

    @abstractmethod
    def protection(self, base: Iterable[PurePosixPath]) -> ProtectedFiles:
        """The files that steer the tests."""

    def mounts(self) -> tuple[ReadOnlyMount, ...]:
        return ()

    @property
    def after(self) -> str:
        """Shell commands after the tests."""
        return ""

    def check(self, request: RunRequest) -> None:
        for target in request.targets:
            if not target or target[0] in "-@" or "\x00" in target:
                raise ValueError(f"expected a path or a test's id, found {target!r}")
        if request.keyword is not None and "\x00" in request.keyword:
            raise ValueError(f"expected a name, found {request.keyword!r}")
        if request.markers or request.last_failed:
            raise ValueError(
                f"markers and last_failed need pytest; these tests run under {self.name}"
            )
        if request.max_failures is not None and request.max_failures < 1:
            raise ValueError(f"expected max_failures of 1 or more, found {request.max_failures}")

    def arguments(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        yield from ("sh", "-c", _SCRIPT, "agentbench", str(results), self.before, self.after)
        yield from self.command(sandbox, request, results)

    def read(
        self, sandbox: Sandbox, results: PurePosixPath, request: RunRequest, ended: CommandResult
    ) -> TestRun:
        is_lost = ended.ending is Ending.LOST
        files = {} if is_lost else read_files(sandbox, results, self.report_files)
        report = self.report(files, request)
        if OUTPUT_FILE not in files:  # a test removed it, or it is too large
            report = ExternalReport(source=ReportSource.EXIT_CODE)
        session = ReportedSession(
            source=report.source,
            started=report.started,
            finished=report.finished,
            collection_errors=report.errors,
            collected_count=len(report.cases),
            detail=report.detail,
        )
        session.partial_facts = session.partial_facts.replace(
            internals_changed=tuple(dict.fromkeys(report.forged))
        )
        how = parse.PytestExit(
            ending=ended.ending, exit_code=ended.exit_code, collect_only=request.collect_only
        )
        outcome = decide_outcome(how, report)
        if outcome is PytestOutcome.SPAWN and ended.exit_code in _NO_PROGRAM:
            session.spawn_error = f"{self._command.words[0]}: {_NO_PROGRAM[ended.exit_code]}"
        text = report.printed or "\n".join(filter(None, (ended.stdout, ended.stderr)))
        return TestRun(
            command=ended,
            result=parse.result_with(session, how, tuple(report.cases), outcome, text),
            trust=self.trust,
            node_ids=tuple(report.listed),
        )

    def name_in_source(self, node_id: NodeId) -> str:
        return name_in_file(node_id)


class ExternalFiles(ABC):
    """The files that steer the tests of a project; `ProtectedFiles` says what the methods mean."""

    @abstractmethod
    def steers(self, path: PurePosixPath) -> Protected | None:
        """Why a file is never taken from an agent, besides that it is a test; None if it may be."""

    @abstractmethod
    def is_test(self, path: PurePosixPath) -> bool:
        """Whether a file has the name of a test."""

    @abstractmethod
    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """What is judged of a file that steers the tests in a part only."""

    @abstractmethod
    def configures(self, path: PurePosixPath) -> bool:
        """Whether a file configures the tests."""

    def why(self, path: PurePosixPath) -> Protected | None:
        if self.is_test(path):
            return Protected("a test", tampers=False)
        if any(part.startswith(".git") for part in path.parts):
            return Protected("git's own files", tampers=False)
        return self.steers(path)

    def fault_in(self, _path: PurePosixPath, _content: bytes) -> str | None:
        return None


def decide_outcome(ended: parse.PytestExit, report: ExternalReport) -> PytestOutcome:
    """The outcome of a run, by its report and its exit code.

    These tools exit 0 or not 0, and differ in what else their codes mean. So the report says what
    happened, and a code that contradicts it leaves it unverified.
    """
    match ended.ending:
        case Ending.LOST:
            return PytestOutcome.SPAWN
        case Ending.TIMED_OUT:
            return PytestOutcome.TIMEOUT
        case Ending.OUT_OF_MEMORY | Ending.OUT_OF_DISK | Ending.KILLED:
            return PytestOutcome.CRASH
        case Ending.EXITED:
            pass
        case _:
            assert_never(ended.ending)
    code = ended.exit_code or 0
    if code in _NO_PROGRAM and not report.started:
        return PytestOutcome.SPAWN
    if report.errors:
        return PytestOutcome.COLLECTION_ERROR
    if code > _MAX_CODE:
        return PytestOutcome.CRASH
    if report.source is ReportSource.EXIT_CODE:
        return PytestOutcome.UNVERIFIED
    if not report.started:
        return PytestOutcome.UNVERIFIED if code == 0 else PytestOutcome.USAGE
    if ended.collect_only:
        return PytestOutcome.PASSED if code == 0 else PytestOutcome.UNVERIFIED
    if not report.finished:
        return PytestOutcome.UNVERIFIED if code == 0 else PytestOutcome.CRASH
    if not report.cases:
        return PytestOutcome.NO_TESTS
    has_failed = any(case.outcome in FAILING_OUTCOMES for case in report.cases)
    if has_failed == (code != 0):
        return PytestOutcome.FAILED if has_failed else PytestOutcome.PASSED
    return PytestOutcome.UNVERIFIED
