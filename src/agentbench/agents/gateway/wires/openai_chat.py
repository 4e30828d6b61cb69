"""POST /v1/chat/completions, which most servers of models speak."""

from agentbench.agents.gateway.tokens import Tokens, counted
from agentbench.agents.gateway.wires.openai_errors import openai_error
from agentbench.agents.gateway.wires.wire_format import first_in, object_in
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.pytest_results.model import JsonObject


class OpenAIChat:
    """A stream tells its tokens only if asked to, in an event without choices at its end."""

    wire = Wire.OPENAI_CHAT
    quota_status = 403

    def amended(self, request: JsonObject) -> JsonObject | None:
        """Ask for the tokens of a stream, whatever else its options say."""
        options = object_in(request, "stream_options")
        if not request.get("stream") or options.get("include_usage"):
            return None
        return {**request, "stream_options": {**options, "include_usage": True}}

    def is_extra(self, event: JsonObject) -> bool:
        """The one with tokens and no choices."""
        return event.get("choices") == [] and bool(object_in(event, "usage"))

    def tokens(self, said: JsonObject, before: Tokens | None = None) -> Tokens | None:
        """What stands under `usage`."""
        usage = object_in(said, "usage")
        if not usage:
            return before
        details = object_in(usage, "prompt_tokens_details")
        return Tokens(
            input=counted(usage.get("prompt_tokens")),
            output=counted(usage.get("completion_tokens")),
            cached=counted(details.get("cached_tokens")),
            cache_written=counted(details.get("cache_write_tokens")),
        )

    def ends(self, event: JsonObject) -> bool:
        """With a reason to finish; `[DONE]` adds nothing, and some servers leave it out."""
        return first_in(event, "choices").get("finish_reason") is not None

    def refuses(self, said: JsonObject) -> bool:
        """By its filter, or in words of the model."""
        choice = first_in(said, "choices")
        filtered = choice.get("finish_reason") == "content_filter"
        said_no = (object_in(choice, part).get("refusal") for part in ("message", "delta"))
        return filtered or any(said_no)

    def error(self, event: JsonObject) -> JsonObject | None:
        """In place of a chunk."""
        return event if event.get("error") else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """As OpenAI writes it."""
        del status
        return openai_error(kind, message)
