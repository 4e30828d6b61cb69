"""The runner of a task's command. `runner.py` says what a runner is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agentbench.tasks.test_command import TestCommand
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.cargo import CargoRunner
from agentbench.test_runs.golang import GoRunner
from agentbench.test_runs.javascript import JestRunner, MochaRunner, NodeRunner, VitestRunner
from agentbench.test_runs.python_runners import DjangoRunner, PytestRunner, UnittestRunner
from agentbench.test_runs.report_formats import JunitRunner, TapRunner
from agentbench.test_runs.runner import TestRunner

_RUNNERS: Mapping[Runner, Callable[[TestCommand], TestRunner]] = MappingProxyType(
    {
        Runner.PYTEST: PytestRunner,
        Runner.UNITTEST: UnittestRunner,
        Runner.DJANGO: DjangoRunner,
        Runner.GO: GoRunner,
        Runner.CARGO: CargoRunner,
        Runner.JEST: JestRunner,
        Runner.VITEST: VitestRunner,
        Runner.MOCHA: MochaRunner,
        Runner.NODE: NodeRunner,
        Runner.JUNIT: JunitRunner,
        Runner.TAP: TapRunner,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOfRunner:
    """What a runner of another language reports, for documents."""

    source: str
    """Where its report comes from."""
    whole: str
    """What shows that the report is whole."""
    exit_codes: str
    """Its exit codes, as observed."""


REPORTS: Mapping[Runner, ReportOfRunner] = MappingProxyType(
    {
        Runner.JEST: ReportOfRunner(
            source="agentbench's reporter, and jest's own JSON",
            whole="the end of the reporter's stream",
            exit_codes="1: a test or a file failed, or none was found; 0 also if a test calls "
            "`process.exit(0)` in jest's own process",
        ),
        Runner.VITEST: ReportOfRunner(
            source="agentbench's reporter, and vitest's own JSON",
            whole="the end of the reporter's stream, without unhandled errors",
            exit_codes="1: a test, a file or a hook failed, or none was found",
        ),
        Runner.MOCHA: ReportOfRunner(
            source="agentbench's reporter",
            whole="mocha's event `end`",
            exit_codes="the number of failures, at most 255; 0 also after `process.exit(0)`",
        ),
        Runner.NODE: ReportOfRunner(
            source="agentbench's reporter in the process that starts the files",
            whole="the end of each file, with a test in it",
            exit_codes="1: a test or a file failed; 0 also if a file calls `process.exit(0)`",
        ),
        Runner.GO: ReportOfRunner(
            source="the events of `go test -json`",
            whole="a result for each package",
            exit_codes="1: a test or a package failed; 2: a package could not be built; 0 also if "
            "`TestMain` calls `os.Exit(0)`",
        ),
        Runner.CARGO: ReportOfRunner(
            source="the lines of libtest",
            whole="`test result:` and the announced number of tests from each program",
            exit_codes="101: a test failed, or it could not be compiled; 0 also if a test ends the "
            "process with 0",
        ),
        Runner.JUNIT: ReportOfRunner(
            source="the XML files of `report`, written by this run",
            whole="each file can be parsed",
            exit_codes="0: nothing failed; any other: something did",
        ),
        Runner.TAP: ReportOfRunner(
            source="the output, or the files of `report`",
            whole="a plan, and as many results",
            exit_codes="0: nothing failed; any other: something did",
        ),
    }
)
"""The runners of other languages."""


def runner_of(command: TestCommand) -> TestRunner:
    """The runner of a task's command."""
    return _RUNNERS[command.runner](command)
