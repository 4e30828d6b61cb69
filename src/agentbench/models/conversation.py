"""What is said between an agent and its model, before any API format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from agentbench.core.schema import JsonObject
from agentbench.models.interface import ModelErrorKind, ModelFailure


class Role(StrEnum):
    """Who says a turn; what tools answer is said by the user."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedToolCall:
    """A tool that the model asks for."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered."""

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
    """Why a model stopped writing."""

    DONE = "done"  # it said, or called, all that it wanted
    CUT_OFF = "cut_off"  # at the limit of tokens that one answer may have
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelToolCall:
    """One call of a tool, as the model wrote it."""

    id: str
    name: str
    arguments: str  # JSON, if the model did well
    extra: JsonObject = field(default_factory=dict)  # what its provider wants to see again


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One answer of a model."""

    text: str = ""
    tool_calls: tuple[ModelToolCall, ...] = ()
    stop: StopReason = StopReason.DONE
    extra: JsonObject = field(default_factory=dict)  # what its provider wants to see again
    verbatim: tuple[JsonObject, ...] = ()  # all of it as its provider wrote it, thoughts included;
    # providers take thoughts back only while nothing that stood before them has changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """What a tool answers; `failed` when it could not do what it was called for."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """An answer of the model, and what came back: a reply to each call in order, and a note."""

    answer: ModelAnswer
    replies: tuple[ToolReply, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All that a model gets to read."""

    system: str
    task: str
    turns: tuple[ConversationTurn, ...] = ()
    left_out_turns: int = 0  # turns that stood before these

    @property
    def opening(self) -> str:
        """The task, and a word on what is missing between it and the first turn."""
        if not self.left_out_turns:
            return self.task
        return (
            f"{self.task}\n\n[{self.left_out_turns} earlier steps were left out here to save room.]"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is shown to a model."""

    name: str
    description: str
    schema: JsonObject


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
"""What may be over at the next try."""


class UnansweredError(Exception):
    """A request that the model did not answer; `retry_after` is in seconds, if it was said."""

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
    """Speaks to one model on one wire. Tries once; whoever calls it tries again."""

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> ModelAnswer:
        """The model's answer, read as it is streamed.

        Raises:
            UnansweredError: there is none, or not a whole one.
        """

    def close(self) -> None:
        """Let go of the connection."""
