"""Searches the paths of a function that somebody hands in; what it says is believed by nobody.

`mounted/agentbench_analysis.py` does the work in a sandbox. The code may forge its answer, and
fools only those who handed it in: what comes back is read strictly, and bounded.
"""

from dataclasses import dataclass
from enum import StrEnum
from threading import Event
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from agentbench.schema import Schema
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.symbolic.laboratory import LIMITS, Bench, Laboratory

MOST_PATHS = 300
"""A search that is not exhausted ends after so many paths ..."""

IDLE_PATHS = 40
"""... or after so many in a row that bring nothing new."""

GRACE_SECONDS = 5.0
"""What a search gets beyond its time, to say what it has; then its processes are killed."""

_PROGRAM = "agentbench_analysis.py"
_MOST_LINE = 1 << 19  # characters of an answer

Text = Annotated[str, Field(max_length=2000)]
Count = Annotated[int, Field(ge=0, le=10**9)]
ErrorName = Literal[
    "ValueError",
    "SyntaxError",
    "ValidationError",
    "ImportError",
    "TimeoutError",
    "RuntimeError",
]


class Aim(StrEnum):
    """What is looked for."""

    FIND = "find"  # the functions, no more
    CHECK = "check"
    RAISES = "raises"
    BRANCHES = "branches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is asked about a function."""

    aim: Aim
    function: str  # of FIND: several, with commas
    seconds: float
    exception: str | None = None


class Finding(Schema):
    """A call that really does what was looked for."""

    call: Text
    inputs: dict[Text, Text] = Field(max_length=100)
    ending: Text
    said: Text | None = None
    type: Text | None = None
    line: int | None = None
    what: Text | None = None


class Way(Schema):
    """One way out of a branching."""

    line: int
    kind: Text
    condition: Text
    taken: Text
    reachable: bool | None = Field(description="null: not reached, and not proven unreachable")
    example: Text = Field(description="a call that goes this way")


class Found(Schema):
    """What a search came to."""

    error_type: ErrorName | None = None
    message: Text = ""
    checked: Text = ""
    assumed: tuple[dict[Text, Text], ...] = Field(default=(), max_length=10)
    paths: Count = 0
    verified: Count = 0
    given_up: dict[Text, Count] = Field(default_factory=dict, max_length=50)
    exhausted: bool = False
    over: bool = False
    coverage: float = Field(default=0.0, ge=0.0, le=1.0)
    findings: tuple[Finding, ...] = Field(default=(), max_length=20)
    hits: Count = 0
    tried: Count = 0  # plain inputs, beside those of the paths
    unconfirmed: tuple[Text, ...] = Field(default=(), max_length=20)
    branches: tuple[Way, ...] = Field(default=(), max_length=5000)
    dead: tuple[int, ...] = Field(default=(), max_length=100_000)
    lines: tuple[int, ...] = Field(default=(), max_length=100_000)
    complexity: Count = 0


class _Line(Schema):
    """A line of the program's."""

    progress: Found | None = None
    found: Found | None = None


def search(laboratory: Laboratory, code: str, asked: Search, cancel: Event) -> Found:
    """Search a function's paths, in a fresh sandbox.

    Raises:
        UnavailableError: no sandbox works here, or the libraries are not to be had.
        SandboxError: the sandbox is lost.
        KeyboardInterrupt: it was called off; no process of it is left.
    """
    with laboratory.bench(code, cancel=cancel) as bench:
        return search_at(bench, asked)


def search_at(bench: Bench, asked: Search) -> Found:
    """Search a function's paths, in a sandbox that is open.

    Raises:
        SandboxError: the sandbox is lost.
        KeyboardInterrupt: it was called off; no process of it is left.
    """
    question = _Question(
        tool=asked.aim,
        function=asked.function,
        exception=asked.exception,
        path=bench.path,
        seconds=asked.seconds,
        paths=MOST_PATHS,
        idle_paths=IDLE_PATHS,
    )
    wall = asked.seconds + GRACE_SECONDS
    return _found(bench.run(_PROGRAM, question.model_dump_json(), seconds=wall))


class _Question(Schema):
    """What the program reads."""

    tool: Aim
    function: str
    exception: str | None
    path: str
    seconds: float
    paths: int
    idle_paths: int


def _found(result: CommandResult) -> Found:
    """What came back, or why nothing did."""
    lines = [line for line in map(_read, result.stdout.splitlines()[-200:]) if line is not None]
    final = next((line.found for line in reversed(lines) if line.found is not None), None)
    if final is not None:
        return final
    so_far = next((line.progress for line in reversed(lines) if line.progress is not None), Found())
    if result.ending is Ending.TIMED_OUT:
        return so_far.model_copy(update={"over": True})
    told = {"error_type": "RuntimeError", "message": why_it_ended(result), "exhausted": False}
    return so_far.model_copy(update=told)


def why_it_ended(result: CommandResult) -> str:
    """Why a program in a sandbox ended without an answer, in words."""
    match result.ending:
        case Ending.OUT_OF_MEMORY:
            return f"the analysis needed more memory than it may have, {LIMITS.memory_mib} MiB"
        case Ending.OUT_OF_DISK:
            return f"the code wrote more than it may, {result.exceeded}"
        case Ending.KILLED:
            return f"the analysis was ended by signal {result.signal}"
        case _:
            how = "" if result.exit_code is None else f", with exit code {result.exit_code}"
            return f"the code ended the analysis before it answered{how}"


def _read(line: str) -> _Line | None:
    if len(line) > _MOST_LINE or not line.startswith("{"):
        return None
    try:
        return _Line.model_validate_json(line)
    except ValidationError:
        return None
