"""Analyses of functions in a sandbox: descriptions, contracts, and comparisons of two functions.

`agentbench_mounted.compare` reads a `ComparisonRequest` as JSON from stdin and writes a
`ComparisonResult` for each pair as a line of JSON to stdout.

The code could forge its answer, but that deceives only its own author; it is parsed strictly.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field, ValidationError

from agentbench.core.schema import Schema
from agentbench.extensions.symbolic import sandbox
from agentbench.scoring.evidence import CommandResult, Ending

MOST_PATHS = 300  # a search ends after this number of paths …
IDLE_PATHS = 40  # … or after this number of paths in a row without a new result
GRACE_SECONDS = 5.0
"""The time that a search has after its deadline to report; then its processes are killed."""
_ANALYSIS_PROGRAM = "analysis"
_MOST_LINE = 1 << 19  # characters of an answer
Text = Annotated[str, Field(max_length=2000)]
Count = Annotated[int, Field(ge=0, le=10**9)]
EXAMPLES = 300  # the number of generated inputs, in addition to those of the paths
_COMPARE_PROGRAM = "compare"
_LEAST_SECONDS = 0.5


class FunctionLocation(Schema):
    """A function, class or method, and the tree that it is loaded from."""

    paths: tuple[str, ...]  # first on sys.path, as the sandbox sees them
    module: str  # its dotted name
    name: str  # in the module: `f`, `Class`, or `Class.method`


class ErrorComparison(StrEnum):
    """The errors that two functions must have in common."""

    ALL = "all"
    CONTRACT = "contract"
    """Errors from a `raise` of the left function. Any other error of the left function means that
    the input is invalid; the right function may do anything there."""


class FunctionPair(Schema):
    """Two functions that should behave alike; the left one is the reference."""

    left: FunctionLocation
    right: FunctionLocation
    errors: ErrorComparison = ErrorComparison.CONTRACT
    observed: tuple[str, ...] = ()  # calls in tests, as expressions; similar ones are generated


class ComparisonRequest(Schema):
    """Pairs to compare, and the limits for each pair."""

    pairs: tuple[FunctionPair, ...]
    seconds: float = Field(default=20.0, gt=0)  # for each pair
    examples: int = Field(default=500, gt=0)  # inputs generated for each pair
    call_seconds: float = Field(default=2.0, gt=0)  # for each call of one side
    symbolic: bool = True  # also search the paths
    path_seconds: float = Field(default=15.0, gt=0)  # for the paths; more time rarely finds more
    literals: tuple[str, ...] = ()  # in tests, as source; inputs are generated near them
    seed: int = 0


class ComparisonEnding(StrEnum):
    """How a comparison ended."""

    DIFFERENT = "different"
    NO_DIFFERENCE = "no_difference"
    NOT_COMPARED = "not_compared"


class BehaviourDifference(Schema):
    """The smallest input found on which two functions behave differently."""

    program: tuple[str, ...]
    """Statements that may use the names assigned before. The value of the last one differs."""
    call: str  # for a reader: `f(77, -1)`
    left: str  # `returns -77`, `raises ValueError`, `does not end within 2 s`
    right: str


class ComparisonResult(Schema):
    """The result for one pair."""

    ending: ComparisonEnding
    why: str = ""  # why a pair was not compared, and what was not tried
    difference: BehaviourDifference | None = None
    inputs_tried: int = 0
    paths_explored: int = 0
    exhausted: bool = False  # every path was explored, which proves that there is no difference
    time_spent: float = 0.0  # seconds


class ReplayRequest(Schema):
    """A program to run in one tree, to confirm a difference: the input of `worker_process`."""

    paths: tuple[str, ...]
    program: tuple[str, ...]
    times: int = Field(default=2, gt=0)
    call_seconds: float = Field(default=2.0, gt=0)


class ReplayResult(Schema):
    """The results of a program's last statement, in the words of `Difference.left`."""

    outcomes: tuple[str, ...]
    values: tuple[str, ...]  # the same in a form that can be compared between trees
    why: str = ""  # it did not run to its last statement


class SymbolicErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    SYNTAX = "SyntaxError"
    VALIDATION = "ValidationError"
    IMPORT = "ImportError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class AnalysisAim(StrEnum):
    """The goal of a search."""

    FIND = "find"  # only the functions
    CHECK = "check"
    RAISES = "raises"
    BRANCHES = "branches"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRequest:
    """A question about a function."""

    aim: AnalysisAim
    function: str  # for FIND: several, separated by commas
    seconds: float
    exception: str | None = None


class AnalysisFinding(Schema):
    """A call that was confirmed to reach the goal."""

    call: Text
    inputs: dict[Text, Text] = Field(max_length=100)
    ending: Text
    said: Text | None = None
    type: Text | None = None
    line: int | None = None
    what: Text | None = None


class FunctionBranch(Schema):
    """One branch of a condition."""

    line: int
    kind: Text
    condition: Text
    taken: Text
    reachable: bool | None = Field(description="null: not reached, and not proven unreachable")
    example: Text = Field(description="a call that goes this way")


class AnalysisResult(Schema):
    """The result of a search."""

    error_type: SymbolicErrorType | None = None
    message: Text = ""
    checked: Text = ""
    assumed: tuple[dict[Text, Text], ...] = Field(default=(), max_length=10)
    paths: Count = 0
    verified: Count = 0
    given_up: dict[Text, Count] = Field(default_factory=dict, max_length=50)
    exhausted: bool = False
    over: bool = False
    coverage: float = Field(default=0.0, ge=0.0, le=1.0)
    findings: tuple[AnalysisFinding, ...] = Field(default=(), max_length=20)
    hits: Count = 0
    tried: Count = 0  # plain inputs, in addition to those of the paths
    unconfirmed: tuple[Text, ...] = Field(default=(), max_length=20)
    branches: tuple[FunctionBranch, ...] = Field(default=(), max_length=5000)
    dead: tuple[int, ...] = Field(default=(), max_length=100_000)
    lines: tuple[int, ...] = Field(default=(), max_length=100_000)
    complexity: Count = 0


class _ProgramLine(Schema):
    """A line of the program's output."""

    progress: AnalysisResult | None = None
    found: AnalysisResult | None = None


def analyse(opened: sandbox.AnalysisSandbox, request: AnalysisRequest) -> AnalysisResult:
    """Search a function's paths, in a sandbox that is open.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; all its processes have ended.
    """
    question = {
        "tool": request.aim,
        "function": request.function,
        "exception": request.exception,
        "path": opened.path,
        "seconds": request.seconds,
        "paths": MOST_PATHS,
        "idle_paths": IDLE_PATHS,
    }
    wall = request.seconds + GRACE_SECONDS
    return _parse_result(opened.run(_ANALYSIS_PROGRAM, json.dumps(question), seconds=wall))


def _parse_result(result: CommandResult) -> AnalysisResult:
    """The program's answer, or the reason why there is none."""
    lines = [_parse_line(line) for line in result.stdout.splitlines()[-200:]]
    found = [line.found for line in lines if line.found is not None]
    if found:
        return found[-1]
    progress = [line.progress for line in lines if line.progress is not None]
    so_far = progress[-1] if progress else AnalysisResult()
    if result.ending is Ending.TIMED_OUT:
        return so_far.replace(over=True)
    error, message = SymbolicErrorType.RUNTIME, why_it_ended(result)
    update = {"error_type": error, "message": message, "exhausted": False}
    return so_far.replace(**update)


def why_it_ended(result: CommandResult) -> str:
    """Why a program in a sandbox ended without an answer, in words."""
    match result.ending:
        case Ending.OUT_OF_MEMORY:
            limit = f"{sandbox.ANALYSIS_LIMITS.memory_mib} MiB"
            return f"the analysis exceeded its memory limit, {limit}"
        case Ending.OUT_OF_DISK:
            return f"the code exceeded its disk limit, {result.exceeded}"
        case Ending.KILLED:
            return f"the analysis was ended by signal {result.signal}"
        case _:
            how = "" if result.exit_code is None else f", with exit code {result.exit_code}"
            return f"the code ended the analysis before it answered{how}"


def _parse_line(line: str) -> _ProgramLine:
    """A parsed line; an empty one if the code printed it."""
    if len(line) <= _MOST_LINE and line.startswith("{"):
        with suppress(ValidationError):
            return _ProgramLine.model_validate_json(line)
    return _ProgramLine()


def compare_functions(
    opened: sandbox.AnalysisSandbox, names: tuple[str, str], seconds: float
) -> ComparisonResult | AnalysisResult:
    """Look for an input on which two functions behave differently.

    If they could not be compared, the result is that of the search, which says why.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; all its processes have ended.
    """
    started = time.monotonic()  # without the time to prepare a first sandbox
    request = AnalysisRequest(aim=AnalysisAim.FIND, function=",".join(names), seconds=seconds)
    refusal = analyse(opened, request)
    if refusal.error_type is not None or refusal.over:
        return refusal
    rest = max(_LEAST_SECONDS, seconds - (time.monotonic() - started))
    paths = (str(opened.sandbox.workspace),)
    left, right = (
        FunctionLocation(paths=paths, module=sandbox.SUBMITTED_MODULE, name=name) for name in names
    )
    pair = FunctionPair(left=left, right=right, errors=ErrorComparison.ALL)
    question = ComparisonRequest(
        pairs=(pair,), seconds=rest, examples=EXAMPLES, call_seconds=min(2.0, rest / 2)
    )
    wall = rest + GRACE_SECONDS
    return _parse_comparison(opened.run(_COMPARE_PROGRAM, question.model_dump_json(), seconds=wall))


def _parse_comparison(result: CommandResult) -> ComparisonResult | AnalysisResult:
    for line in result.stdout.splitlines():
        with suppress(ValidationError):  # printed by the code
            return ComparisonResult.model_validate_json(line)
    if result.ending is Ending.TIMED_OUT:
        return AnalysisResult(over=True)
    return AnalysisResult(error_type=SymbolicErrorType.RUNTIME, message=why_it_ended(result))
