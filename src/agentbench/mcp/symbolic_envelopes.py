"""The answers of the symbolic tools: ADR-009's flat dictionaries, every field in every case."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from agentbench.schema import Schema
from agentbench.symbolic.analysis import Way


class ErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    SYNTAX = "SyntaxError"
    VALIDATION = "ValidationError"
    IMPORT = "ImportError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class Bounds(Schema):
    """Within which bounds an answer holds."""

    exhaustive: bool = Field(
        default=False, description="every path was explored: it is proven for these types"
    )
    paths_explored: int = 0
    paths_given_up: int = 0
    max_paths: int = 0
    inputs_tried: int = 0
    seconds: float = 0.0


class Call(Schema):
    """A call that was really made."""

    call: str
    inputs: dict[str, str] = Field(default_factory=dict)
    outcome: str = ""  # `returns 1`, `raises ZeroDivisionError: division by zero`
    condition: str = ""  # of the contract, that does not hold
    line: int | None = None


class Envelope(Schema):
    """What every answer has."""

    status: str
    error_type: ErrorType | None = None
    message: str
    time_seconds: float = 0.0


class CheckEnvelope(Envelope):
    """What `symbolic_check` answers."""

    status: Literal["verified", "counterexample", "error", "timeout"]
    counterexamples: tuple[Call, ...] = ()
    paths_explored: int = 0
    paths_verified: int = 0
    coverage_estimate: float = Field(default=0.0, description="of the function's lines, 0 to 1")
    checked: str = Field(default="", description="what the function was held to")
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: Bounds = Field(default_factory=Bounds)


class FindPathEnvelope(Envelope):
    """What `find_path_to_exception` answers."""

    status: Literal["found", "unreachable", "error"]
    triggering_inputs: tuple[Call, ...] = ()
    paths_to_exception: int = 0
    total_paths_explored: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: Bounds = Field(default_factory=Bounds)


class CompareEnvelope(Envelope):
    """What `compare_functions` answers."""

    status: Literal["equivalent", "different", "error"]
    distinguishing_input: str | None = None
    result_a: str | None = None
    result_b: str | None = None
    paths_explored: int = 0
    confidence: Literal["proven", "tested", "none"] = "none"
    bounds: Bounds = Field(default_factory=Bounds)


class BranchesEnvelope(Envelope):
    """What `analyze_branches` answers."""

    status: Literal["complete", "error"]
    branches: tuple[Way, ...] = ()
    total_branches: int = 0
    reachable_branches: int = 0
    dead_code_lines: tuple[int, ...] = Field(
        default=(), description="proven, by all paths or by form"
    )
    cyclomatic_complexity: int = 0
    assumed_types: tuple[dict[str, str], ...] = ()
    bounds: Bounds = Field(default_factory=Bounds)


class HealthEnvelope(Envelope):
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
