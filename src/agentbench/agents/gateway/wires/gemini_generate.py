"""POST /v1beta/models/M:generateContent and its streaming sibling, Google's wire."""

from agentbench.agents.gateway.tokens import Tokens, counted
from agentbench.agents.gateway.wires.wire_format import TellsItsTokens, first_in, object_in
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.pytest_results.model import JsonObject

_STATUSES = {
    ModelErrorKind.QUOTA: "RESOURCE_EXHAUSTED",
    ModelErrorKind.AUTH: "UNAUTHENTICATED",
    ModelErrorKind.UNKNOWN_MODEL: "NOT_FOUND",
    ModelErrorKind.MALFORMED: "INVALID_ARGUMENT",
    ModelErrorKind.CONTEXT_LENGTH: "INVALID_ARGUMENT",
    ModelErrorKind.TIMEOUT: "DEADLINE_EXCEEDED",
}
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})


class GeminiGenerate(TellsItsTokens):
    """Each event of a stream is an answer; the last one has a reason to finish."""

    wire = Wire.GEMINI_GENERATE
    quota_status = 403

    def tokens(self, said: JsonObject, before: Tokens | None = None) -> Tokens | None:
        """What stands under `usageMetadata`; thoughts and what tools put in count too."""
        usage = object_in(said, "usageMetadata")
        if not usage:
            return before
        asked = counted(usage.get("promptTokenCount"))
        return Tokens(
            input=asked + counted(usage.get("toolUsePromptTokenCount")),
            output=counted(usage.get("candidatesTokenCount"))
            + counted(usage.get("thoughtsTokenCount")),
            cached=counted(usage.get("cachedContentTokenCount")),
        )

    def ends(self, event: JsonObject) -> bool:
        """With a reason to finish, or not to begin."""
        finished = first_in(event, "candidates").get("finishReason")
        return bool(finished) or bool(object_in(event, "promptFeedback").get("blockReason"))

    def refuses(self, said: JsonObject) -> bool:
        """By its filter, before or after the model."""
        blocked = object_in(said, "promptFeedback").get("blockReason")
        return bool(blocked) or first_in(said, "candidates").get("finishReason") in _REFUSALS

    def error(self, event: JsonObject) -> JsonObject | None:
        """In place of an answer."""
        return event if event.get("error") else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """As Google writes it."""
        named = _STATUSES.get(kind, "UNAVAILABLE")
        return {"error": {"code": status, "message": message, "status": named}}
