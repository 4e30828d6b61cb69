"""The interface of API formats, and the common functions of their adapters."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models.conversation import Message
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts

_ERROR_TYPES_AND_CODES = {
    ModelErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    ModelErrorKind.AUTH: ("invalid_request_error", "invalid_api_key"),
    ModelErrorKind.UNKNOWN_MODEL: ("invalid_request_error", "model_not_found"),
    ModelErrorKind.MALFORMED: ("invalid_request_error", None),
    ModelErrorKind.CONTEXT_LENGTH: ("invalid_request_error", "context_length_exceeded"),
}
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


class FormatAdapter(Protocol):
    """Reads and writes one API format, for the gateway and for trajectories."""

    api_format: ApiFormat
    quota_status: int = 403  # the status for a spent budget, after which clients do not retry

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request, amended so that its stream reports tokens; None if it already does."""
        del request
        return None

    def is_extra(self, event: JsonObject) -> bool:
        """Whether an event is in a stream only because the request was amended."""
        del event
        return False

    def tokens(self, payload: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """The tokens so far, by a whole answer or by the next event of a stream."""

    def ends(self, event: JsonObject) -> bool:
        """Whether this event completes a stream."""

    def events_of(self, answer: JsonObject) -> Sequence[JsonObject]:
        """The events of a stream with a whole answer; empty if this format has no such events.

        Servers that do not stream are OpenAI-compatible ones, so only their format has them.
        """
        del answer
        return ()

    def refuses(self, payload: JsonObject) -> bool:
        """Whether an answer or an event is a refusal by the model."""

    def error(self, event: JsonObject) -> JsonObject | None:
        """The error in an event of a stream, in the form of an error body."""
        return event if event.get("error") else None

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """The body of an error of the gateway, in the provider's form: here in OpenAI's."""
        del status
        family, code = _ERROR_TYPES_AND_CODES.get(kind, ("server_error", kind.value))
        return {"error": {"message": message, "type": family, "param": None, "code": code}}

    def request_messages(self, body: JsonObject) -> Iterator[Message]:
        """The conversation in a request."""

    def answer_message(self, body: JsonObject) -> Message:
        """The model's answer as a message."""

    def streamed_message(self, events: Iterable[JsonObject]) -> Message:
        """The model's answer from a stream as a message."""


def nested_object(value: object, *names: str) -> JsonObject:
    """The object at a path of names; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def first_object(value: JsonObject, name: str) -> JsonObject:
    """The first object in the list at a name; empty if there is none."""
    listed = value.get(name)
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}


def content_text(value: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return text(value)
    return "\n".join(filter(None, (text(part.get("text")) for part in objects(value))))


def parse_arguments(value: object) -> JsonObject:
    """The arguments of a call, an object or its JSON; anything else stays text."""
    if isinstance(value, dict):
        return value
    found = json_object(value) if isinstance(value, str) else None
    if found is not None:
        return found
    return {"_unparsed": text(value)} if value else {}


def arguments_text(value: object) -> str:
    """The arguments of a call as text; some servers send the object itself, or no text at all."""
    return json.dumps(value) if isinstance(value, dict | list) else text(value)


def decoded_arguments(arguments: str) -> str:
    """The arguments of a complete call; some servers encode their JSON a second time."""
    if not arguments.lstrip().startswith('"'):
        return arguments
    try:
        inner = json.loads(arguments)
    except ValueError:
        return arguments
    return inner if json_object(inner) is not None else arguments


def tool_result_text(value: object) -> str:
    """A tool's answer as text: content parts, or any other value as JSON."""
    if isinstance(value, str | list):
        return content_text(value) or ("" if isinstance(value, str) else _as_json(value))
    return "" if value is None else _as_json(value)


def stream_events(stream: str) -> Iterator[JsonObject]:
    """The objects in a stream of server-sent events, in order."""
    for line in stream.splitlines():
        if line.startswith("data:") and (found := json_object(line[5:].strip())) is not None:
            yield found


def sent_tool_name(name: str) -> str:
    """A tool's name in a form that all servers accept back, even if the model wrote it wrong."""
    return _INVALID_IN_NAME.sub("_", name)[:64] or "unknown"


def _as_json(value: object) -> str:
    return text(json.dumps(value, ensure_ascii=False)) if value else ""
