"""A test runner that is none of agentbench's: a program that writes lines, with ids of its own."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.sandbox.interface import ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import (
    CaseOutcome,
    CommandResult,
    NodeId,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.scoring.node_ids import name_in_file, node_id_of
from agentbench.test_runs.model import CaseResult, PytestResult, PytestSummary
from agentbench.test_runs.report_files import read_files
from agentbench.test_runs.runner import BaseContent, Protected, RunRequest, TestRun

_MOUNT = "plain_runner"


@dataclass(frozen=True)
class PlainFiles:
    """Nothing but `plain.cfg` steers this runner."""

    def why(self, path: PurePosixPath) -> Protected | None:
        return Protected("steers the runner", tampers=True) if self.configures(path) else None

    def judged(self, _path: PurePosixPath, _base: BaseContent, _after: bytes | None) -> None:
        return None

    def fault_in(self, _path: PurePosixPath, _content: bytes) -> None:
        return None

    def configures(self, path: PurePosixPath) -> bool:
        return path.name == "plain.cfg"

    def is_test(self, path: PurePosixPath) -> bool:
        return path.name.startswith("test_")


@dataclass(frozen=True)
class PlainRunner:
    """Calls functions, and writes `passed FILE > NAME` or `failed FILE > NAME` for each."""

    after: str = ""
    """Shell commands after it, with its report as $1 and its exit code as $?."""

    trust: ReportTrust = ReportTrust.EXTERNAL_REPORT
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"PYTHONPATH": ""}))

    def mounts(self) -> tuple[ReadOnlyMount, ...]:
        program = Path(__file__).with_name("plain_runner_program")
        return (ReadOnlyMount(name=_MOUNT, source=program),)

    def check(self, request: RunRequest) -> None:
        if request.markers:
            raise ValueError("markers: it has none")

    def arguments(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        program = sandbox.mounted(_MOUNT) / "run_functions.py"
        shell = f'report=$1; shift; python -B {program} "${{report%/*}}" "$@"; {self.after}'
        yield from ("sh", "-c", shell, "sh", str(results / "report.txt"), *request.targets)

    def read(
        self, sandbox: Sandbox, results: PurePosixPath, _request: RunRequest, ended: CommandResult
    ) -> TestRun:
        files = read_files(sandbox, results, {"report.txt": 1_000_000})
        cases = tuple(map(self._case, files.get("report.txt", "").splitlines()))
        failed = sum(case.outcome is CaseOutcome.FAILED for case in cases)
        return TestRun(
            command=ended,
            trust=self.trust,
            result=PytestResult(
                exit_code=ended.exit_code,
                summary=PytestSummary(
                    total=len(cases),
                    passed=len(cases) - failed,
                    failed=failed,
                    collected=len(cases),
                ),
                tests=cases,
                text_output=ended.stdout,
                outcome=PytestOutcome.FAILED if failed else PytestOutcome.PASSED,
                complete=bool(cases),
                source=ReportSource.JUNIT if cases else ReportSource.EXIT_CODE,
            ),
        )

    def name_in_source(self, node_id: NodeId) -> str:
        return name_in_file(node_id)

    def is_test_file(self, path: PurePosixPath) -> bool:
        return PlainFiles().is_test(path)

    def protection(self, _base: Iterable[PurePosixPath]) -> PlainFiles:
        return PlainFiles()

    def _case(self, line: str) -> CaseResult:
        outcome, file, _, name = line.split()
        return CaseResult(
            node_id=node_id_of(file, name), outcome=CaseOutcome(outcome), duration=0.0
        )
