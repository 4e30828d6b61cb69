"""The programs that run tests: their names, and the commands that start them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Runner(StrEnum):
    """The program that runs a task's tests."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    DJANGO = "django"  # runtests.py in Django's folder of tests
    JEST = "jest"
    VITEST = "vitest"
    MOCHA = "mocha"
    NODE = "node"  # node --test
    GO = "go"  # go test
    CARGO = "cargo"  # cargo test
    JUNIT = "junit"  # any program that writes JUnit's XML files
    TAP = "tap"  # any program that prints or writes the Test Anything Protocol


PYTHON_RUNNERS = frozenset({Runner.PYTEST, Runner.UNITTEST, Runner.DJANGO})
"""The runners whose tests are sealed, and whose tools for agents have all arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerCommand:
    """How a runner is started; `tasks.test_command` parses a task's command."""

    expected: str  # the forms that a task may give, for messages
    usual: str = ""  # unless a task gives another one; empty: it has to
    is_module: bool = False  # whether `python -m NAME` starts it
    start: re.Pattern[str] | None = None
    """What a command of a runner in another language begins with; None: it may be any command,
    and only the key `runner` names it."""


# Programs that start a tool of a Node project. What follows them may be a script of package.json.
_LAUNCHER = r"(?:npx|(?:npm|pnpm|yarn|bun)(?: exec| run| x| dlx)?)(?: --?[\w-]+)* "


def _node_tool(name: str) -> re.Pattern[str]:
    path = rf"(?:\./)?(?:[\w.@-]+/)*{name}(?:\.m?js)?"
    return re.compile(rf"(?:{_LAUNCHER}|node(?: --[\w=./-]+)* )?{path}(?: |$)")


_NODE_VALUE = (
    r"(?:--import|--require|-r|--loader|--experimental-loader|--env-file|--conditions|-C) "
    r"[\w./:@-]+"
)
"""An option of node that has its value in the next word."""

_SCRIPT = re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? [\w:.-]+(?: |$)")
"""A script of package.json, which may start any tool."""


RUNNER_COMMANDS: Mapping[Runner, RunnerCommand] = MappingProxyType(
    {
        Runner.PYTEST: RunnerCommand(
            usual="python -m pytest",
            expected="`pytest …` or `python[3[.N]] -m pytest …`",
            is_module=True,
        ),
        Runner.UNITTEST: RunnerCommand(
            usual="python -m unittest",
            expected="`python[3[.N]] -m unittest …`",
            is_module=True,
        ),
        Runner.DJANGO: RunnerCommand(
            usual="python tests/runtests.py --settings=test_sqlite --parallel 1 --verbosity 2",
            expected="`python[3[.N]] tests/runtests.py …`",
        ),
        Runner.JEST: RunnerCommand(
            usual="npx jest",
            expected="`npx jest …`, or a script of package.json that starts it",
            start=_node_tool("jest"),
        ),
        Runner.VITEST: RunnerCommand(
            usual="npx vitest run",
            expected="`npx vitest run …`, or a script of package.json that starts it",
            start=_node_tool("vitest"),
        ),
        Runner.MOCHA: RunnerCommand(
            usual="npx mocha",
            expected="`npx mocha …`, or a script of package.json that starts it",
            start=_node_tool("_?mocha"),
        ),
        Runner.NODE: RunnerCommand(
            usual="node --test",
            expected="`node --test …`, or a script of package.json that starts it",
            start=re.compile(rf"node (?:{_NODE_VALUE} |--[\w=./:@-]+ )*--test(?: |$)"),
        ),
        Runner.GO: RunnerCommand(
            usual="go test ./...", expected="`go test …`", start=re.compile(r"go test(?: |$)")
        ),
        Runner.CARGO: RunnerCommand(
            usual="cargo test",
            expected="`cargo test …`",
            start=re.compile(r"cargo (?:\+[\w.-]+ )?test(?: |$)"),
        ),
        Runner.JUNIT: RunnerCommand(expected="a command that writes the files of `report`"),
        Runner.TAP: RunnerCommand(expected="a command that prints TAP, or writes it to `report`"),
    }
)


def runner_started_by(words: str) -> Runner | None:
    """The runner of another language than Python that a command starts; None: it is not known."""
    for runner, command in RUNNER_COMMANDS.items():
        if command.start is not None and command.start.match(words):
            return runner
    return None


def may_start(runner: Runner, words: str) -> bool:
    """Whether a command may start a runner that the task names."""
    start = RUNNER_COMMANDS[runner].start
    is_node = runner in {Runner.JEST, Runner.VITEST, Runner.MOCHA, Runner.NODE}
    return start is None or bool(start.match(words)) or (is_node and bool(_SCRIPT.match(words)))
