"""The conversation between an agent and its model, independent of API formats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from agentbench.core.schema import JsonObject
from agentbench.models.interface import ModelErrorKind, ModelFailure

TRANSIENT_ERRORS = frozenset(
    {
        ModelErrorKind.RATE_LIMIT,
        ModelErrorKind.OVERLOADED,
        ModelErrorKind.SERVER_ERROR,
        ModelErrorKind.TIMEOUT,
        ModelErrorKind.CONNECTION,
        ModelErrorKind.CUT_STREAM,
    }
)
"""The kinds of failures for which a retry may help."""


class Role(StrEnum):
    """The author of a turn; results of tools are the user's."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedToolCall:
    """A tool call by the model."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    speaker: Role
    text: str = ""
    reasoning: str = ""
    calls: tuple[ParsedToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


class StopReason(StrEnum):
    """Why a model stopped."""

    DONE = "done"  # the answer is complete
    CUT_OFF = "cut_off"  # at the token limit of one answer
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelToolCall:
    """One tool call, unchanged."""

    id: str
    name: str
    arguments: str  # usually JSON
    extra: JsonObject = field(default_factory=dict)  # fields that the provider requires back


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One answer of a model."""

    text: str = ""
    tool_calls: tuple[ModelToolCall, ...] = ()
    stop: StopReason = StopReason.DONE
    extra: JsonObject = field(default_factory=dict)  # fields that the provider requires back
    verbatim: tuple[JsonObject, ...] = ()  # the unchanged answer with its reasoning;
    # providers accept it back only if nothing before it has changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """The reply of a tool; `failed` if it could not do what was asked."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """An answer of the model, a reply to each of its calls in order, and a note."""

    answer: ModelAnswer
    replies: tuple[ToolReply, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The whole content of a request to a model."""

    system: str
    task: str
    turns: tuple[ConversationTurn, ...] = ()
    left_out_turns: int = 0  # turns dropped before these

    @property
    def opening(self) -> str:
        """The task, with a note about turns that were dropped after it."""
        if not self.left_out_turns:
            return self.task
        return (
            f"{self.task}\n\n[{self.left_out_turns} earlier steps were left out here to save room.]"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The description of a tool for a model."""

    name: str
    description: str
    schema: JsonObject


class UnansweredError(Exception):
    """The model did not answer a request; `retry_after` is in seconds, if the provider gave it."""

    def __init__(
        self,
        failure: ModelFailure,
        *,
        retry_after: float | None = None,
        may_retry: bool | None = None,
    ) -> None:
        super().__init__(f"{failure.kind}: {failure.message}")
        self.failure = failure
        self.retry_after = retry_after
        self.may_retry = failure.kind in TRANSIENT_ERRORS if may_retry is None else may_retry


class ModelClient(Protocol):
    """Sends requests to one model in one API format, without retries."""

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> ModelAnswer:
        """The model's answer, read from a stream.

        Raises:
            UnansweredError: there is no complete answer.
        """

    def close(self) -> None:
        """Close the connection."""
