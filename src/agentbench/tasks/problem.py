"""What an agent may know of a task: the bug report, its limits, and how the project's tests run."""

import re
import shlex
from dataclasses import dataclass
from typing import NewType

from pydantic import Field

from agentbench.core.schema import Schema

TaskId = NewType("TaskId", str)
"""Names a task; `[a-z0-9._-]+`, unique in a run."""


class AgentLimits(Schema):
    """How long and how far an agent may go."""

    timeout_s: float = 1800.0
    max_steps: int = 50
    max_cost_usd: float = 2.0


class Problem(Schema):
    """What an agent is told: the bug report, how the visible tests run, and its limits."""

    id: TaskId
    title: str
    tags: tuple[str, ...] = ()
    instruction: str
    test_command: str
    test_paths: tuple[str, ...] = ()
    test_timeout_s: float
    test_env: dict[str, str] = Field(default_factory=dict)  # what the tests run with
    limits: AgentLimits = AgentLimits()


_INTERPRETER = re.compile(r"python(3(\.\d{1,2})?)?")
_SHELL = re.compile(r"[|&;<>`\n\r\x00]|\$\(|\$\{")
_EXPECTED_COMMAND = "expected `pytest …` or `python[3[.N]] -m pytest …`"


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestCommand:
    """How a project runs pytest, without the tests that it is to run."""

    as_module: bool  # `python -m pytest` puts the working folder on sys.path, `pytest` does not
    interpreter: str = "python"
    options: tuple[str, ...] = ()


def parse_pytest_command(text: str) -> PytestCommand:
    """Take a command apart; no shell will ever see it.

    Raises:
        ValueError: it is not pytest, or it needs a shell; says what was expected and found.
    """
    if _SHELL.search(_without_quoted(text)):
        raise ValueError(f"{_EXPECTED_COMMAND} without a shell's operators, found {text!r}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED_COMMAND}, found {text!r}: {error}") from error
    if words[:1] == ["pytest"]:
        return PytestCommand(as_module=False, options=tuple(words[1:]))
    if words[1:3] == ["-m", "pytest"] and _INTERPRETER.fullmatch(words[0]):
        return PytestCommand(as_module=True, interpreter=words[0], options=tuple(words[3:]))
    raise ValueError(f"{_EXPECTED_COMMAND}, found {text!r}{_hint(words)}")


def _without_quoted(text: str) -> str:
    """The text less what stands in quotes: `-k "a|b"` is an expression, not a pipe."""
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
