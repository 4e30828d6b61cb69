"""The command of a project's tests: which runner it starts, and with which options."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import ClassVar

from agentbench.tasks.test_runner_name import Runner

_INTERPRETER = re.compile(r"python(3(\.\d{1,2})?)?")
_SHELL = re.compile(r"[|&;<>`\n\r\x00]|\$\(|\$\{")
_EXPECTED_COMMANDS = {
    Runner.PYTEST: "expected `pytest …` or `python[3[.N]] -m pytest …`",
    Runner.UNITTEST: "expected `python[3[.N]] -m unittest …`",
    Runner.DJANGO: "expected `python[3[.N]] tests/runtests.py …`",
}
_RUN_NO_TEST = frozenset(
    {"--co", "--collect-only", "--collectonly", "--fixtures", "--fixtures-per-test", "--funcargs",
     "--markers", "--setup-only", "--setuponly", "--setup-plan", "--setupplan", "--cache-show",
     "--help", "-h", "--version", "-V", "-VV"}
)  # fmt: skip
DEFAULT_COMMANDS: Mapping[Runner, str] = MappingProxyType(
    {
        Runner.PYTEST: "python -m pytest",
        Runner.UNITTEST: "python -m unittest",
        Runner.DJANGO: "python tests/runtests.py --settings=test_sqlite --parallel 1 --verbosity 2",
    }
)
"""The command of each runner, unless a task gives another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCommand:
    """The command for a project's tests, mostly pytest, without the names of tests."""

    __test__: ClassVar[bool] = False  # pytest takes classes by their names

    as_module: bool  # `python -m pytest` puts the working folder on sys.path, `pytest` does not
    interpreter: str = "python"
    options: tuple[str, ...] = ()
    runner: Runner = Runner.PYTEST
    script: str = ""  # Django's runtests.py, relative to the workspace

    @property
    def script_folder(self) -> PurePosixPath | None:
        """The folder of the script, which Python has first on its path."""
        return PurePosixPath(self.script).parent if self.script else None


def parse_test_command(text: str, runner: Runner | None = None) -> TestCommand:
    """Parse a command. It is never run by a shell.

    Args:
        text: The command.
        runner: The runner that it must start; None: any.

    Raises:
        ValueError: it does not start the runner, or needs a shell; says what was expected and
            found.
    """
    expected = _EXPECTED_COMMANDS[runner or Runner.PYTEST]
    if _SHELL.search(_without_quoted(text)):
        raise ValueError(f"{expected} without a shell's operators, found {text!r}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{expected}, found {text!r}: {error}") from error
    command = _command_of(words)
    if command is None:
        raise ValueError(f"{expected}, found {text!r}{_hint(words)}")
    if without := [word for word in command.options if word.partition("=")[0] in _RUN_NO_TEST]:
        raise ValueError(
            f"expected a command that runs tests, found {text!r}: {without[0]} runs none"
        )
    if runner not in {None, command.runner}:
        fitting = f'give another command, or runner = "{command.runner.value}"'
        raise ValueError(f"{expected}, found {text!r}; {fitting}")
    return command


def _command_of(words: list[str]) -> TestCommand | None:
    if words[:1] == ["pytest"]:
        return TestCommand(as_module=False, options=tuple(words[1:]))
    if not words or not _INTERPRETER.fullmatch(words[0]):
        return None
    if words[1:2] == ["-m"] and words[2:3] in (["pytest"], ["unittest"]):
        return TestCommand(
            as_module=True,
            interpreter=words[0],
            options=tuple(words[3:]),
            runner=Runner(words[2]),
        )
    script = PurePosixPath(words[1]) if len(words) > 1 else PurePosixPath()
    if script.name != "runtests.py" or script.is_absolute() or ".." in script.parts:
        return None
    return TestCommand(
        as_module=False,
        interpreter=words[0],
        options=tuple(words[2:]),
        runner=Runner.DJANGO,
        script=str(script),
    )


def _without_quoted(text: str) -> str:
    """The text without its quoted parts: `-k "a|b"` is an expression, not a pipe."""
    return re.sub(r"'[^']*'|\"(?:[^\"\\`$]|\\.)*\"", "", text)


def _hint(words: list[str]) -> str:
    if not words:
        return ": it is empty"
    first = words[0]
    if re.match(r"[A-Za-z_]\w*=", first):
        return ": give variables as environment.env"
    if "/" in first:
        return ": give the program's name, not its path"
    return ""
