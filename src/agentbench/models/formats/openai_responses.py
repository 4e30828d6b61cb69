"""POST /v1/responses, OpenAI's newer format: for the gateway and trajectories."""

from collections.abc import Iterable, Iterator

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import objects, text
from agentbench.models.conversation import Message, ParsedToolCall, Role, ToolResult
from agentbench.models.formats import interface
from agentbench.models.formats.openai_chat import ROLES, openai_tokens
from agentbench.models.interface import ApiFormat, TokenCounts

_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ITEM_DONE = "response.output_item.done"


class OpenAIResponsesFormat(interface.FormatAdapter):
    """The last event of a stream has the whole answer with its tokens."""

    api_format = ApiFormat.OPENAI_RESPONSES
    # Codex retries after any other status except 401.
    quota_status = 400

    def tokens(self, payload: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        usage = interface.nested_object(_answer(payload), "usage")
        if not usage:
            return before
        return openai_tokens(usage, input_prefix="input", output_prefix="output")

    def ends(self, event: JsonObject) -> bool:
        return event.get("type") in _LAST_EVENTS

    def refuses(self, payload: JsonObject) -> bool:
        answer = _answer(payload)
        if interface.nested_object(answer, "incomplete_details").get("reason") == "content_filter":
            return True
        return any(
            part.get("type") == "refusal"
            for item in objects(answer.get("output"))
            for part in objects(item.get("content"))
        )

    def error(self, event: JsonObject) -> JsonObject | None:
        if event.get("type") == "error":
            return {"error": interface.nested_object(event, "error") or event}
        failed = interface.nested_object(event, "response", "error")
        return {"error": failed} if failed else None

    def request_messages(self, body: JsonObject) -> Iterator[Message]:
        if body.get("instructions"):
            yield Message(speaker=Role.SYSTEM, text=text(body.get("instructions")))
        request_input = body.get("input")
        if isinstance(request_input, str):
            yield Message(speaker=Role.USER, text=text(request_input))
        yield from filter(None, map(_message, objects(request_input)))

    def answer_message(self, body: JsonObject) -> Message:
        turns = list(filter(None, map(_message, objects(body.get("output")))))
        return Message(
            speaker=Role.AGENT,
            text="\n".join(turn.text for turn in turns if turn.text),
            reasoning="\n".join(turn.reasoning for turn in turns if turn.reasoning),
            calls=tuple(call for turn in turns for call in turn.calls),
        )

    def streamed_message(self, events: Iterable[JsonObject]) -> Message:
        # The stream sends every item once more when it is complete.
        done = [event.get("item") for event in events if event.get("type") == _ITEM_DONE]
        return self.answer_message({"output": done})


def _answer(payload: JsonObject) -> JsonObject:
    return interface.nested_object(payload, "response") or payload


def _message(item: JsonObject) -> Message | None:
    kind = text(item.get("type")) or "message"
    if kind == "message":
        speaker = ROLES.get(text(item.get("role")), Role.USER)
        return Message(speaker=speaker, text=interface.content_text(item.get("content")))
    if kind == "reasoning":
        return Message(speaker=Role.AGENT, reasoning=interface.content_text(item.get("summary")))
    if kind.endswith("_call_output"):
        answer = ToolResult(
            call_id=text(item.get("call_id")), text=interface.tool_result_text(item.get("output"))
        )
        return Message(speaker=Role.USER, results=(answer,))
    if kind.endswith("_call"):
        arguments = item.get("arguments") or item.get("input") or item.get("action")
        call = ParsedToolCall(
            id=text(item.get("call_id")) or text(item.get("id")),
            name=text(item.get("name")) or kind.removesuffix("_call"),
            arguments=interface.parse_arguments(arguments),
        )
        return Message(speaker=Role.AGENT, calls=(call,))
    return None
