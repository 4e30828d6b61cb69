"""The runner of a task's command. `runner.py` says what a runner is."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agentbench.tasks.test_command import TestCommand
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.cargo import CargoRunner
from agentbench.test_runs.golang import GoRunner
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
        Runner.JUNIT: JunitRunner,
        Runner.TAP: TapRunner,
    }
)


def runner_of(command: TestCommand) -> TestRunner:
    """The runner of a task's command."""
    return _RUNNERS[command.runner](command)
