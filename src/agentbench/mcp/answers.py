"""Answers that only a server gives, and any answer as the protocol has it."""

from typing import TYPE_CHECKING

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.answers import answer_to_error, as_text
from agentbench.pytest_results.tool_calls.envelope import Envelope, ErrorType
from agentbench.pytest_results.tool_calls.outcomes import INTERNAL_ERROR

if TYPE_CHECKING:
    from mcp.types import CallToolResult


def bug(incident: str) -> JsonObject:
    """A fault of ours; the traceback is on stderr under the incident's name."""
    message = "Internal server error"
    return answer_to_error(
        "internal_error", ErrorType.RUNTIME, message, code=INTERNAL_ERROR, incident=incident
    )


def explained(text: str) -> JsonObject:
    """What `explain_failure` says."""
    return Envelope(
        status="success", outcome="explained", message=text.partition("\n")[0], explanation=text
    ).model_dump(mode="json")


def call_result(answer: JsonObject) -> "CallToolResult":
    """An answer as the protocol has it."""
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(
        content=[TextContent(type="text", text=as_text(answer))],
        structured_content=answer,
        is_error=is_error(answer),
    )


def is_error(answer: JsonObject) -> bool:
    """Whether an answer is one of those that ADR-009 counts as errors."""
    return answer["status"] in ("error", "timeout")
