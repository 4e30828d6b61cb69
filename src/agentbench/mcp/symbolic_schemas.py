"""What the symbolic tools take and answer: ADR-009's flat dictionaries with every field."""

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from agentbench.core.schema import Schema
from agentbench.pytest_results.tool_calls.arguments import ToolArguments
from agentbench.symbolic.analysis import FunctionBranch


class SymbolicErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    SYNTAX = "SyntaxError"
    VALIDATION = "ValidationError"
    IMPORT = "ImportError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class SearchBounds(Schema):
    """Within which bounds an answer holds."""

    exhaustive: bool = Field(
        default=False, description="every path was explored: it is proven for these types"
    )
    paths_explored: int = 0
    paths_given_up: int = 0
    max_paths: int = 0
    inputs_tried: int = 0
    seconds: float = 0.0


class ObservedCall(Schema):
    """A call that was really made."""

    call: str
    inputs: dict[str, str] = Field(default_factory=dict)
    outcome: str = ""  # `returns 1`, `raises ZeroDivisionError: division by zero`
    condition: str = ""  # of the contract, that does not hold
    line: int | None = None


class SymbolicAnswer(Schema):
    """What every answer has."""

    status: str
    error_type: SymbolicErrorType | None = None
    message: str
    time_seconds: float = 0.0


class CheckAnswer(SymbolicAnswer):
    """What `symbolic_check` answers."""

    status: Literal["verified", "counterexample", "error", "timeout"]
    counterexamples: tuple[ObservedCall, ...] = ()
    paths_explored: int = 0
    paths_verified: int = 0
    coverage_estimate: float = Field(default=0.0, description="of the function's lines, 0 to 1")
    checked: str = Field(default="", description="what the function was held to")
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class FindPathAnswer(SymbolicAnswer):
    """What `find_path_to_exception` answers."""

    status: Literal["found", "unreachable", "error"]
    triggering_inputs: tuple[ObservedCall, ...] = ()
    paths_to_exception: int = 0
    total_paths_explored: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class CompareAnswer(SymbolicAnswer):
    """What `compare_functions` answers."""

    status: Literal["equivalent", "different", "error"]
    distinguishing_input: str | None = None
    result_a: str | None = None
    result_b: str | None = None
    paths_explored: int = 0
    confidence: Literal["proven", "tested", "none"] = "none"
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class BranchesAnswer(SymbolicAnswer):
    """What `analyze_branches` answers."""

    status: Literal["complete", "error"]
    branches: tuple[FunctionBranch, ...] = ()
    total_branches: int = 0
    reachable_branches: int = 0
    dead_code_lines: tuple[int, ...] = Field(
        default=(), description="proven, by all paths or by form"
    )
    cyclomatic_complexity: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: SearchBounds = Field(default_factory=SearchBounds)


class HealthAnswer(SymbolicAnswer):
    """What `health_check` answers."""

    status: Literal["healthy"] = "healthy"
    version: str = ""
    python_version: str = ""
    crosshair_version: str | None = None
    hypothesis_version: str | None = None
    z3_version: str | None = None
    sandbox: str | None = Field(default=None, description="what code is run in")
    missing: tuple[str, ...] = Field(default=(), description="what is not there, by name")
    tools: tuple[str, ...] = ()


MAX_CODE_BYTES = 1_000_000
"""Bytes of code that are read."""

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def _check_code(code: str) -> str:
    try:
        size = len(code.encode())
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which no file can") from None
    if size > MAX_CODE_BYTES:
        raise ValueError(f"is {size} bytes long, of which {MAX_CODE_BYTES} are read at most")
    return code


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("is not a Python name, such as parse or Parser.parse")
    return name


Code = Annotated[
    str,
    AfterValidator(_check_code),
    Field(
        description="A whole module's text; it is run in a sandbox without a network.",
        examples=["def f(x: int) -> int:\n    return 10 // (x - 77)\n"],
    ),
]
DottedName = Annotated[str, Field(max_length=200), AfterValidator(_check_name)]
FunctionName = Annotated[
    DottedName, Field(description="A function of the code, or Class.method.", examples=["f"])
]
Timeout = Annotated[
    float,
    Field(
        default=30.0,
        ge=0.5,
        le=600,
        allow_inf_nan=False,
        description="Seconds the search may take.",
        examples=[30],
    ),
]


class CheckArguments(ToolArguments):
    """What `symbolic_check` takes."""

    code: Code
    function_name: FunctionName
    timeout_seconds: Timeout


class FindPathArguments(ToolArguments):
    """What `find_path_to_exception` takes."""

    code: Code
    function_name: FunctionName
    exception_type: DottedName = Field(
        description="A builtin exception, or one that the code has.", examples=["ValueError"]
    )
    timeout_seconds: Timeout


class CompareArguments(ToolArguments):
    """What `compare_functions` takes."""

    code: Code
    function_a: FunctionName
    function_b: FunctionName
    timeout_seconds: Timeout


class BranchesArguments(ToolArguments):
    """What `analyze_branches` takes."""

    code: Code
    function_name: FunctionName
    timeout_seconds: Timeout


class HealthArguments(ToolArguments):
    """What `health_check` takes: nothing."""
