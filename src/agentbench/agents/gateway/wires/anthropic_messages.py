"""POST /v1/messages, Anthropic's wire."""

from agentbench.agents.gateway.tokens import Tokens, counted
from agentbench.agents.gateway.wires.wire_format import TellsItsTokens, object_in
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.pytest_results.model import JsonObject

_TYPES = {
    ModelErrorKind.QUOTA: "billing_error",
    ModelErrorKind.AUTH: "authentication_error",
    ModelErrorKind.UNKNOWN_MODEL: "not_found_error",
    ModelErrorKind.MALFORMED: "invalid_request_error",
    ModelErrorKind.CONTEXT_LENGTH: "invalid_request_error",
}


class AnthropicMessages(TellsItsTokens):
    """A stream tells its input's tokens at the start, and its output's, added up, at the end."""

    wire = Wire.ANTHROPIC_MESSAGES
    quota_status = 403

    def tokens(self, said: JsonObject, before: Tokens | None = None) -> Tokens | None:
        """Anthropic's `input_tokens` leaves out what the cache had or got; ours does not."""
        usage = object_in(said, "message", "usage") or object_in(said, "usage")
        if not usage:
            return before
        old = before or Tokens()
        written_1h = object_in(usage, "cache_creation").get("ephemeral_1h_input_tokens")
        cached = _newer(usage.get("cache_read_input_tokens"), old.cached)
        written = _newer(usage.get("cache_creation_input_tokens"), old.cache_written)
        fresh = _newer(usage.get("input_tokens"), old.input - old.cached - old.cache_written)
        return Tokens(
            input=fresh + cached + written,
            output=_newer(usage.get("output_tokens"), old.output),
            cached=cached,
            cache_written=written,
            cache_written_1h=_newer(written_1h, old.cache_written_1h),
        )

    def ends(self, event: JsonObject) -> bool:
        """With its own last event."""
        return event.get("type") == "message_stop"

    def refuses(self, said: JsonObject) -> bool:
        """By its reason to stop."""
        return "refusal" in {said.get("stop_reason"), object_in(said, "delta").get("stop_reason")}

    def error(self, event: JsonObject) -> JsonObject | None:
        """An event `error`, which is an error's body."""
        return event if event.get("type") == "error" else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """As Anthropic writes it."""
        del status
        return {
            "type": "error",
            "error": {"type": _TYPES.get(kind, "api_error"), "message": message},
        }


def _newer(value: object, old: int) -> int:
    return old if value is None else counted(value)
