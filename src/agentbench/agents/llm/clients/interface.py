"""What every client of a model can do."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from agentbench.agents.llm.conversation import Answer, Conversation, ToolSpec
from agentbench.agents.model_door import ModelErrorKind, ModelFailure

TRANSIENT = frozenset(
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
        self.may_retry = failure.kind in TRANSIENT if may_retry is None else may_retry


class Client(Protocol):
    """Speaks to one model on one wire. Tries once; whoever calls it tries again."""

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, timeout: timedelta
    ) -> Answer:
        """The model's answer, read as it is streamed.

        Raises:
            UnansweredError: there is none, or not a whole one.
        """

    def close(self) -> None:
        """Let go of the connection."""
