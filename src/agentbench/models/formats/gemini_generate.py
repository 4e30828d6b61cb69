"""POST /v1beta/models/M:generateContent and its stream, Google's format; its calls have no ids."""

from collections.abc import Iterable, Iterator

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
from agentbench.models.conversation import Message, ParsedToolCall, Role, ToolResult
from agentbench.models.formats.interface import (
    FormatAdapter,
    content_text,
    first_object,
    nested_object,
    parse_arguments,
    tool_result_text,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts, token_count

_ERROR_STATUSES = {
    ModelErrorKind.QUOTA: "RESOURCE_EXHAUSTED",
    ModelErrorKind.AUTH: "UNAUTHENTICATED",
    ModelErrorKind.UNKNOWN_MODEL: "NOT_FOUND",
    ModelErrorKind.MALFORMED: "INVALID_ARGUMENT",
    ModelErrorKind.CONTEXT_LENGTH: "INVALID_ARGUMENT",
    ModelErrorKind.TIMEOUT: "DEADLINE_EXCEEDED",
}
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})


class GeminiGenerateFormat(FormatAdapter):
    """Each event of a stream is an answer; the last one has a finish reason."""

    api_format = ApiFormat.GEMINI_GENERATE

    def tokens(self, payload: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        # Tokens of reasoning and of tools are counted apart.
        usage = nested_object(payload, "usageMetadata")
        if not usage:
            return before
        prompt_tokens = token_count(usage.get("promptTokenCount"))
        return TokenCounts(
            input=prompt_tokens + token_count(usage.get("toolUsePromptTokenCount")),
            output=token_count(usage.get("candidatesTokenCount"))
            + token_count(usage.get("thoughtsTokenCount")),
            cached=token_count(usage.get("cachedContentTokenCount")),
        )

    def ends(self, event: JsonObject) -> bool:
        finished = first_object(event, "candidates").get("finishReason")
        return bool(finished) or bool(nested_object(event, "promptFeedback").get("blockReason"))

    def refuses(self, payload: JsonObject) -> bool:
        blocked = nested_object(payload, "promptFeedback").get("blockReason")
        return bool(blocked) or first_object(payload, "candidates").get("finishReason") in _REFUSALS

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        named = _ERROR_STATUSES.get(kind, "UNAVAILABLE")
        return {"error": {"code": status, "message": message, "status": named}}

    def request_messages(self, body: JsonObject) -> Iterator[Message]:
        system = body.get("systemInstruction") or body.get("system_instruction")
        if isinstance(system, dict):
            yield Message(speaker=Role.SYSTEM, text=content_text(system.get("parts")))
        for content in objects(body.get("contents")):
            speaker = Role.AGENT if content.get("role") == "model" else Role.USER
            yield _message(objects(content.get("parts")), speaker)

    def answer_message(self, body: JsonObject) -> Message:
        return _message(_answer_parts(body), Role.AGENT)

    def streamed_message(self, events: Iterable[JsonObject]) -> Message:
        return _message((part for event in events for part in _answer_parts(event)), Role.AGENT)


def _answer_parts(body: JsonObject) -> Iterator[JsonObject]:
    for candidate in objects(body.get("candidates")):
        content = candidate.get("content")
        yield from objects(content.get("parts") if isinstance(content, dict) else None)


def _message(parts: Iterable[JsonObject], speaker: Role) -> Message:
    spoken, thought = "", ""
    calls: list[ParsedToolCall] = []
    results: list[ToolResult] = []
    for part in parts:
        call, answer = part.get("functionCall"), part.get("functionResponse")
        if part.get("thought") is True:
            thought += text(part.get("text"))
        else:
            spoken += text(part.get("text"))
        if isinstance(call, dict):
            arguments = parse_arguments(call.get("args"))
            name = text(call.get("name"))
            calls.append(ParsedToolCall(id=_call_id(call), name=name, arguments=arguments))
        if isinstance(answer, dict):
            results.append(
                ToolResult(call_id=_call_id(answer), text=tool_result_text(answer.get("response")))
            )
    return Message(
        speaker=speaker, text=spoken, reasoning=thought, calls=tuple(calls), results=tuple(results)
    )


def _call_id(found: JsonObject) -> str:
    return text(found.get("id")) or text(found.get("name"))
