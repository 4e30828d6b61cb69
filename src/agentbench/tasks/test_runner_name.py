"""The programs that run tests: their names, and the commands that start them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Runner(StrEnum):
    """The program that runs a task's tests."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    DJANGO = "django"  # runtests.py in Django's folder of tests


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCommand:
    """How a runner is started; `tasks.test_command` parses a task's command."""

    usual: str  # unless a task gives another one
    expected: str  # the forms that a task may give, for messages
    is_module: bool = True  # whether `python -m NAME` starts it


RUNNER_COMMANDS: Mapping[Runner, RunnerCommand] = MappingProxyType(
    {
        Runner.PYTEST: RunnerCommand(
            usual="python -m pytest", expected="`pytest …` or `python[3[.N]] -m pytest …`"
        ),
        Runner.UNITTEST: RunnerCommand(
            usual="python -m unittest", expected="`python[3[.N]] -m unittest …`"
        ),
        Runner.DJANGO: RunnerCommand(
            usual="python tests/runtests.py --settings=test_sqlite --parallel 1 --verbosity 2",
            expected="`python[3[.N]] tests/runtests.py …`",
            is_module=False,
        ),
    }
)
