"""The command of a project's tests: which runner it starts, and with which options."""

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from agentbench.tasks.test_runner_name import (
    PYTHON_RUNNERS,
    RUNNER_COMMANDS,
    Runner,
    may_start,
    runner_started_by,
)

_INTERPRETER = re.compile(r"python(3(\.\d{1,2})?)?")
_SHELL = re.compile(r"[|&;<>`\n\r\x00]|\$\(|\$\{")
_RUN_NO_TEST = frozenset(
    {"--co", "--collect-only", "--collectonly", "--fixtures", "--fixtures-per-test", "--funcargs",
     "--markers", "--setup-only", "--setuponly", "--setup-plan", "--setupplan", "--cache-show",
     "--help", "-h", "--version", "-V", "-VV"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCommand:
    """The command for a project's tests, without the names of tests."""

    __test__: ClassVar[bool] = False  # pytest takes classes by their names

    as_module: bool = False
    """Whether it is `python -m pytest`, which puts the working folder on sys.path."""
    interpreter: str = "python"
    options: tuple[str, ...] = ()
    runner: Runner = Runner.PYTEST
    script: str = ""  # Django's runtests.py, relative to the workspace
    words: tuple[str, ...] = ()  # the whole command, for a runner of another language
    report: str = ""  # the files that it writes, relative to the workspace: a pattern

    @property
    def script_folder(self) -> PurePosixPath | None:
        """The folder of the script, which Python has first on its path."""
        return PurePosixPath(self.script).parent if self.script else None


# Programs that start the tests of other languages through files of the project.
_OTHER_LANGUAGES = frozenset(
    {"bun", "bundle", "cmake", "ctest", "dotnet", "gradle", "make", "mvn", "npm", "npx", "pnpm"}
    | {"phpunit", "prove", "rake", "rspec", "swift", "yarn"}
)


def parse_test_command(text: str, runner: Runner | None = None, report: str = "") -> TestCommand:
    """Parse a command. It is never run by a shell.

    Args:
        text: The command.
        runner: The runner that it must start; None: the one that the command names.
        report: The files that it writes, if the runner needs them.

    Raises:
        ValueError: it does not start the runner, or needs a shell; says what was expected and
            found.
    """
    expected = f"expected {RUNNER_COMMANDS[runner or Runner.PYTEST].expected}"
    # `-k "a|b"` is an expression, not a pipe.
    unquoted = re.sub(r"'[^']*'|\"(?:[^\"\\`$]|\\.)*\"", "", text)
    if _SHELL.search(unquoted):
        raise ValueError(f"{expected} without a shell's operators, found {text!r}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{expected}, found {text!r}: {error}") from error
    command = _other_command(words, runner, report) or _command_of(words)
    if command is None:
        hint = "" if words else ": it is empty"
        if words and re.match(r"[A-Za-z_]\w*=", words[0]):
            hint = ": give variables as environment.env"
        elif words and "/" in words[0]:
            hint = ": give the program's name, not its path"
        elif runner is None and words and words[0] in _OTHER_LANGUAGES:
            hint = ": a project in another language names its runner, as in docs/languages.md"
        raise ValueError(f"{expected}, found {text!r}{hint}")
    if without := [word for word in command.options if word.partition("=")[0] in _RUN_NO_TEST]:
        raise ValueError(
            f"expected a command that runs tests, found {text!r}: {without[0]} runs none"
        )
    if runner not in {None, command.runner}:
        fitting = f'give another command, or runner = "{command.runner.value}"'
        raise ValueError(f"{expected}, found {text!r}; {fitting}")
    return command


def _other_command(words: list[str], runner: Runner | None, report: str) -> TestCommand | None:
    """The command of a runner of another language; None: it is none."""
    line = " ".join(words)
    if runner is None or runner in PYTHON_RUNNERS:
        runner = runner_started_by(line)
    if not words or runner is None or not may_start(runner, line):
        return None
    return TestCommand(runner=runner, words=tuple(words), report=report)


def _command_of(words: list[str]) -> TestCommand | None:
    if words[:1] == ["pytest"]:
        return TestCommand(as_module=False, options=tuple(words[1:]))
    if not words or not _INTERPRETER.fullmatch(words[0]):
        return None
    modules = [[runner.value] for runner, each in RUNNER_COMMANDS.items() if each.is_module]
    if words[1:2] == ["-m"] and words[2:3] in modules:
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
