"""The requests and results of the program that compares two functions in a sandbox.

`agentbench_mounted.compare` reads a `ComparisonRequest` as JSON from stdin and writes a
`ComparisonResult` for each pair as a line of JSON to stdout.
"""

from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema


class FunctionLocation(Schema):
    """A function, class or method, and the tree that it is loaded from."""

    paths: tuple[str, ...]  # first on sys.path, as the sandbox sees them
    module: str  # its dotted name
    name: str  # in the module: `f`, `Class`, or `Class.method`


class ErrorComparison(StrEnum):
    """The errors that two functions must have in common."""

    ALL = "all"
    CONTRACT = "contract"
    """Errors from a `raise` of the left function. Another error of the left function means that the
    input is invalid, and the right one may do anything there."""


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
    values: tuple[str, ...]  # the same in a form that is comparable between trees
    why: str = ""  # it did not run to its last statement
