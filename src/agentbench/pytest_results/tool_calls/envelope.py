"""The one shape of every answer: ADR-009 outside, ADR-006 within, ADR-007 in `error`."""

from enum import StrEnum
from typing import Literal

from pydantic import Field, SkipValidation

from agentbench.pytest_results.model import (
    CaseResult,
    CollectionError,
    JsonObject,
    PytestResult,
    Summary,
    Versions,
)
from agentbench.schema import Schema
from agentbench.scoring.evidence import NodeId, ReportSource

Outcome = Literal[
    "passed",
    "failed",
    "no_tests",
    "collection_error",
    "interrupted",
    "pytest_internal",
    "usage",
    "timeout",
    "crash",
    "unverified",
    "spawn",
    "discovered",
    "explained",
    "invalid_arguments",
    "path_outside_root",
    "internal_error",
]


class ErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    VALIDATION = "ValidationError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class ErrorDetails(Schema):
    """ADR-007's diagnosis of a run that did not come to its end, and what else an error tells."""

    error_type: str
    exit_code: int | None = None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    command: tuple[str, ...] = ()
    duration: float | None = None  # seconds
    faults: tuple[str, ...] = Field(default=(), description="every fault of wrong arguments")
    incident: str | None = Field(default=None, description="names a bug's traceback on stderr")


class ErrorObject(Schema):
    """What a JSON-RPC error would hold, and does with `--error-mode jsonrpc`."""

    code: int
    message: str
    data: ErrorDetails


class Envelope(Schema):
    """An answer of any tool. A field that says nothing in a case has its default."""

    status: Literal["success", "error"]
    outcome: Outcome
    error_type: ErrorType | None = None
    message: str
    exit_code: int | None = None
    summary: Summary = Field(default_factory=Summary)
    tests: tuple[CaseResult, ...] = ()
    json_report: SkipValidation[JsonObject] = Field(default_factory=dict)
    text_output: str = ""
    collection_errors: tuple[CollectionError, ...] = ()
    complete: bool = Field(default=False, description="false when the run died midway")
    source: ReportSource | None = Field(default=None, description="which reporter told all this")
    omitted: tuple[str, ...] = Field(default=(), description="what was left out for size")
    spawn_error: str | None = None
    detail: str | None = None
    versions: Versions | None = None
    node_ids: tuple[NodeId, ...] = Field(default=(), description="what discover_tests found")
    explanation: str | None = Field(default=None, description="what explain_failure says")
    error: ErrorObject | None = None


SERIALIZED = tuple(name for name in PytestResult.model_fields if name in Envelope.model_fields)
"""The fields that come from the serializer as they are (`outcome` may be a tool's own word)."""


def output_schema() -> JsonObject:
    """The JSON Schema of an answer."""
    return Envelope.model_json_schema(mode="serialization")
