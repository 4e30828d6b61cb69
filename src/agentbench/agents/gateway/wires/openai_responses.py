"""POST /v1/responses, OpenAI's newer wire."""

from agentbench.agents.gateway.tokens import Tokens, counted
from agentbench.agents.gateway.wires.openai_errors import openai_error
from agentbench.agents.gateway.wires.wire_format import TellsItsTokens, object_in
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import objects

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})


class OpenAIResponses(TellsItsTokens):
    """A stream's last event carries the whole answer, its tokens too."""

    wire = Wire.OPENAI_RESPONSES
    quota_status = 400  # codex, which speaks this wire, tries again on all else but 401

    def tokens(self, said: JsonObject, before: Tokens | None = None) -> Tokens | None:
        """What the answer, or the answer in an event, has under `usage`."""
        usage = object_in(_answer(said), "usage")
        if not usage:
            return before
        details = object_in(usage, "input_tokens_details")
        return Tokens(
            input=counted(usage.get("input_tokens")),
            output=counted(usage.get("output_tokens")),
            cached=counted(details.get("cached_tokens")),
            cache_written=counted(details.get("cache_write_tokens")),
        )

    def ends(self, event: JsonObject) -> bool:
        """With the answer in its final state."""
        return event.get("type") in _LAST

    def refuses(self, said: JsonObject) -> bool:
        """By its filter, or in a part that is a refusal."""
        answer = _answer(said)
        if object_in(answer, "incomplete_details").get("reason") == "content_filter":
            return True
        return any(
            part.get("type") == "refusal"
            for item in objects(answer.get("output"))
            for part in objects(item.get("content"))
        )

    def error(self, event: JsonObject) -> JsonObject | None:
        """An event `error`, or the error of an answer that failed."""
        if event.get("type") == "error":
            return {"error": object_in(event, "error") or event}
        failed = object_in(event, "response", "error")
        return {"error": failed} if failed else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """As OpenAI writes it."""
        del status
        return openai_error(kind, message)


def _answer(said: JsonObject) -> JsonObject:
    return object_in(said, "response") or said
