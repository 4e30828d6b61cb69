"""What an outcome means on the wire: success or error, and with which words."""

import signal
from dataclasses import dataclass

from agentbench.pytest_results.model import PytestResult
from agentbench.pytest_results.tool_calls.envelope import ErrorType
from agentbench.pytest_results.tools import PytestRun
from agentbench.scoring.evidence import CommandResult, Ending, PytestOutcome

SERVER_ERROR, INVALID_PARAMS, INTERNAL_ERROR = -32000, -32602, -32603  # as JSON-RPC has them

_FAILED = "pytest execution failed"
_KILLED_FOR = {Ending.OUT_OF_MEMORY: "out of memory", Ending.OUT_OF_DISK: "out of disk"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    """How a run that is no success is told."""

    error_type: ErrorType
    code: int


_RUNTIME = Mishap(error_type=ErrorType.RUNTIME, code=SERVER_ERROR)
MISHAPS = {
    PytestOutcome.INTERRUPTED: _RUNTIME,
    PytestOutcome.PYTEST_INTERNAL: _RUNTIME,
    PytestOutcome.USAGE: Mishap(error_type=ErrorType.VALUE, code=INVALID_PARAMS),
    PytestOutcome.TIMEOUT: Mishap(error_type=ErrorType.TIMEOUT, code=SERVER_ERROR),
    PytestOutcome.CRASH: _RUNTIME,
    PytestOutcome.UNVERIFIED: _RUNTIME,
    PytestOutcome.SPAWN: _RUNTIME,
}
"""The outcomes that are errors; failing tests are none (ADR-007)."""


def message_of(run: PytestRun, timeout_s: float) -> str:
    """One line for a reader."""
    result, command = run.result, run.command
    match result.outcome:
        case PytestOutcome.TIMEOUT:
            text = f"pytest execution exceeded timeout of {timeout_s:g} seconds"
        case PytestOutcome.CRASH:
            text = f"pytest subprocess terminated with {_death(command)}"
        case PytestOutcome.SPAWN:
            text = spawn_message(result.spawn_error or "the sandbox was lost")
        case PytestOutcome.INTERRUPTED:
            text = f"{_FAILED}: Test execution was interrupted{_because(result.detail)}"
        case PytestOutcome.PYTEST_INTERNAL:
            text = f"{_FAILED}: pytest internal error occurred{_because(result.detail)}"
        case PytestOutcome.USAGE:
            text = f"{_FAILED}: Invalid pytest arguments{_because(_complaint(command))}"
        case PytestOutcome.UNVERIFIED:
            text = f"{_FAILED}: it exited {result.exit_code}, and no report bears that out"
        case _:
            text = _counts(result)
    return text


def spawn_message(details: str) -> str:
    """ADR-007's words for a pytest that did not start."""
    return f"Failed to spawn pytest subprocess: {details}"


def signal_name(command: CommandResult) -> str | None:
    """The signal that ended a command."""
    number = command.signal
    if number is None and command.ending in _KILLED_FOR:
        number = signal.SIGKILL
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _death(command: CommandResult) -> str:
    name = signal_name(command)
    why = f" ({_KILLED_FOR[command.ending]})" if command.ending in _KILLED_FOR else ""
    return f"exit code {command.exit_code}" if name is None else f"signal {name}{why}"


def _because(detail: str | None) -> str:
    """The line of a text that says why; a traceback says it last."""
    lines = [line for line in (detail or "").splitlines() if line.strip()]
    return f": {lines[-1].strip()[:300]}" if lines else ""


def _complaint(command: CommandResult) -> str | None:
    lines = [line for line in command.stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0].removeprefix("ERROR: ") if lines else None


def _counts(result: PytestResult) -> str:
    summary = result.summary
    counts = {
        "failed": summary.failed,
        "passed": summary.passed,
        "skipped": summary.skipped,
        "errors": summary.errors,
        "xfailed": summary.xfailed,
        "xpassed": summary.xpassed,
        "unfinished": summary.unfinished,
        "deselected": summary.deselected,
    }
    told = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    return f"{told or 'no tests'} in {summary.duration:.2f} s"
