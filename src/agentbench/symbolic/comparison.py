"""What is asked of, and answered by, the program that compares two functions in a sandbox.

Schemas only.

`agentbench_mounted.compare` reads one `ComparisonRequest` as JSON from its stdin, and
writes one `ComparisonResult` as JSON for each of its pairs, a line each and in their order, to its
stdout. What it lacks of LIBRARY (a folder with hypothesis, and crosshair where paths are searched)
is said in `why`.
"""

from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema


class FunctionLocation(Schema):
    """A function, a class or a method, and the tree to load it from."""

    paths: tuple[str, ...]  # first on sys.path, as the sandbox sees them
    module: str  # by its dotted name
    name: str  # in the module: `f`, `Class`, or `Class.method`


class ErrorComparison(StrEnum):
    """Which errors are behaviour that two functions must have in common."""

    ALL = "all"
    CONTRACT = "contract"
    """Those that the left one raises by a `raise` of its own. Where it fails otherwise, the input
    is outside of what it is for, and what the right one does there says nothing."""


class FunctionPair(Schema):
    """Two that should behave alike, the left one being the reference."""

    left: FunctionLocation
    right: FunctionLocation
    errors: ErrorComparison = ErrorComparison.CONTRACT
    observed: tuple[str, ...] = ()  # calls seen in tests, as expressions: more are made after them


class ComparisonRequest(Schema):
    """Pairs to compare, and what may be spent on each."""

    pairs: tuple[FunctionPair, ...]
    seconds: float = Field(default=20.0, gt=0)  # for each pair
    examples: int = Field(default=500, gt=0)  # inputs made for each pair
    call_seconds: float = Field(default=2.0, gt=0)  # for each call of one side
    symbolic: bool = True  # search the paths too
    path_seconds: float = Field(default=15.0, gt=0)  # for them: more hardly ever finds more
    literals: tuple[str, ...] = ()  # of tests, as source: inputs are made near them
    seed: int = 0


class ComparisonEnding(StrEnum):
    """How a comparison ended."""

    DIFFERENT = "different"
    NO_DIFFERENCE = "no_difference"
    NOT_COMPARED = "not_compared"


class BehaviourDifference(Schema):
    """An input on which two behave differently, as small as was found."""

    program: tuple[str, ...]
    """Statements; each may use what those before it assigned. The value of the last one differs."""
    call: str  # for a reader: `f(77, -1)`
    left: str  # `returns -77`, `raises ValueError`, `does not end within 2 s`
    right: str


class ComparisonResult(Schema):
    """What came of one pair."""

    ending: ComparisonEnding
    why: str = ""  # of a pair that was not compared, and what was not tried
    difference: BehaviourDifference | None = None
    inputs_tried: int = 0
    paths_explored: int = 0
    exhausted: bool = False  # every path was explored: no difference is proven, not just unseen
    time_spent: float = 0.0  # seconds


class ReplayRequest(Schema):
    """A program to run in one tree alone, to confirm what was found.

    `agentbench_mounted.replay` reads it as JSON from stdin and writes a `ReplayResult`.
    """

    paths: tuple[str, ...]
    program: tuple[str, ...]
    times: int = Field(default=2, gt=0)
    call_seconds: float = Field(default=2.0, gt=0)


class ReplayResult(Schema):
    """What a program's last statement did each time, in the words of `Difference.left`."""

    outcomes: tuple[str, ...]
    values: tuple[str, ...]  # the same in a form that two trees can be compared by
    why: str = ""  # it did not run to its last statement
