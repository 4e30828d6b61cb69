"""The form of every answer: ADR-009's envelope, ADR-006's result, ADR-007's `error`."""

import signal
from enum import StrEnum
from typing import Literal

from pydantic import Field, SkipValidation

from agentbench.core.schema import JsonObject, Schema
from agentbench.pytest_results import model
from agentbench.pytest_results.execution import PytestRun
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, PytestOutcome, ReportSource

AnswerOutcome = Literal[
    "passed", "failed", "no_tests", "collection_error", "interrupted", "pytest_internal", "usage",
    "timeout", "crash", "unverified", "spawn", "discovered", "explained", "invalid_arguments",
    "path_outside_root", "internal_error",
]  # fmt: skip


class PytestErrorType(StrEnum):
    """ADR-009's kinds of errors."""

    VALUE = "ValueError"
    VALIDATION = "ValidationError"
    TIMEOUT = "TimeoutError"
    RUNTIME = "RuntimeError"


class ErrorDetails(Schema):
    """ADR-007's diagnosis of a run that did not finish, and details of other errors."""

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
    """The content of a JSON-RPC error, which `--error-mode jsonrpc` sends."""

    code: int
    message: str
    data: ErrorDetails


class PytestAnswer(Schema):
    """An answer of any tool. Fields without a meaning in a case have their defaults."""

    status: Literal["success", "error"]
    outcome: AnswerOutcome
    error_type: PytestErrorType | None = None
    message: str
    exit_code: int | None = None
    summary: model.PytestSummary = Field(default_factory=model.PytestSummary)
    tests: tuple[model.CaseResult, ...] = ()
    json_report: SkipValidation[JsonObject] = Field(default_factory=dict)
    text_output: str = ""
    collection_errors: tuple[model.CollectionError, ...] = ()
    complete: bool = Field(default=False, description="false when the run died midway")
    source: ReportSource | None = Field(default=None, description="which reporter told all this")
    omitted: tuple[str, ...] = Field(default=(), description="what was left out for size")
    spawn_error: str | None = None
    detail: str | None = None
    versions: model.Versions | None = None
    node_ids: tuple[NodeId, ...] = Field(default=(), description="what discover_tests found")
    explanation: str | None = Field(default=None, description="what explain_failure says")
    error: ErrorObject | None = None


SERIALIZED_FIELDS = tuple(
    name for name in model.PytestResult.model_fields if name in PytestAnswer.model_fields
)
"""The fields from the serializer (`outcome` may be a tool's own word)."""


SERVER_ERROR, INVALID_PARAMS, INTERNAL_ERROR = -32000, -32602, -32603  # of JSON-RPC

_FAILED = "pytest execution failed"
_COUNTED = (
    "failed", "passed", "skipped", "errors", "xfailed", "xpassed", "unfinished", "deselected"
)  # fmt: skip
_KILL_CAUSES = {Ending.OUT_OF_MEMORY: "out of memory", Ending.OUT_OF_DISK: "out of disk"}


_RUNTIME = PytestErrorType.RUNTIME, SERVER_ERROR
ERROR_OF_OUTCOME = {
    PytestOutcome.INTERRUPTED: _RUNTIME,
    PytestOutcome.PYTEST_INTERNAL: _RUNTIME,
    PytestOutcome.USAGE: (PytestErrorType.VALUE, INVALID_PARAMS),
    PytestOutcome.TIMEOUT: (PytestErrorType.TIMEOUT, SERVER_ERROR),
    PytestOutcome.CRASH: _RUNTIME,
    PytestOutcome.UNVERIFIED: _RUNTIME,
    PytestOutcome.SPAWN: _RUNTIME,
}
"""The type and the code of the outcomes that are errors; failing tests are not (ADR-007)."""


def message_of(run: PytestRun, timeout_s: float) -> str:
    """A one-line summary."""
    result, command = run.result, run.command
    match result.outcome:
        case PytestOutcome.TIMEOUT:
            text = f"pytest execution exceeded timeout of {timeout_s:g} seconds"
        case PytestOutcome.CRASH:
            text = f"pytest subprocess terminated with {_death(command)}"
        case PytestOutcome.SPAWN:
            text = spawn_message(result.spawn_error or "the sandbox was lost")
        case PytestOutcome.INTERRUPTED:
            text = f"{_FAILED}: Test execution was interrupted{_cause(result.detail)}"
        case PytestOutcome.PYTEST_INTERNAL:
            text = f"{_FAILED}: pytest internal error occurred{_cause(result.detail)}"
        case PytestOutcome.USAGE:
            text = f"{_FAILED}: Invalid pytest arguments{_cause(_usage_error(command))}"
        case PytestOutcome.UNVERIFIED:
            text = f"{_FAILED}: it exited {result.exit_code}, and no report bears that out"
        case _:
            text = _counts(result)
    return text


def spawn_message(details: str) -> str:
    """ADR-007's message for a pytest that did not start."""
    return f"Failed to spawn pytest subprocess: {details}"


def signal_name(command: CommandResult) -> str | None:
    """The signal that ended a command."""
    number = command.signal
    if number is None and command.ending in _KILL_CAUSES:
        number = signal.SIGKILL
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _death(command: CommandResult) -> str:
    name = signal_name(command)
    why = f" ({_KILL_CAUSES[command.ending]})" if command.ending in _KILL_CAUSES else ""
    return f"exit code {command.exit_code}" if name is None else f"signal {name}{why}"


def _cause(detail: str | None) -> str:
    """The line of a text with the reason: the last one of a traceback."""
    lines = [line for line in (detail or "").splitlines() if line.strip()]
    return f": {lines[-1].strip()[:300]}" if lines else ""


def _usage_error(command: CommandResult) -> str | None:
    lines = [line for line in command.stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0].removeprefix("ERROR: ") if lines else None


def _counts(result: model.PytestResult) -> str:
    counts = result.summary.model_dump()
    text = ", ".join(f"{counts[word]} {word}" for word in _COUNTED if counts[word])
    return f"{text or 'no tests'} in {result.summary.duration:.2f} s"
