"""The interface of API formats for the gateway and for trajectories."""

import json
from collections.abc import Iterator
from typing import Protocol

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts


class FormatAdapter(Protocol):
    """How the gateway reads and writes one API format."""

    @property
    def api_format(self) -> ApiFormat:
        """The format."""

    @property
    def quota_status(self) -> int:
        """The status for a spent budget, after which clients do not retry."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request, amended so that its stream reports tokens; None if it already does."""

    def is_extra(self, event: JsonObject) -> bool:
        """Whether an event is in a stream only because the request was amended."""

    def tokens(self, said: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """The tokens so far, by a whole answer or by the next event of a stream."""

    def ends(self, event: JsonObject) -> bool:
        """Whether this event completes a stream."""

    def refuses(self, said: JsonObject) -> bool:
        """Whether an answer or an event is a refusal by the model."""

    def error(self, event: JsonObject) -> JsonObject | None:
        """The error in an event of a stream, in the form of an error body."""

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """The body of an error of the gateway, in the provider's form."""


class TokensInStream:
    """The part of a format whose streams report tokens without being asked."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """No amendment is needed."""
        del request
        return None

    def is_extra(self, event: JsonObject) -> bool:
        """Never."""
        del event
        return False


def nested_object(said: object, *names: str) -> JsonObject:
    """The object at a path of names; empty if there is none."""
    for name in names:
        said = said.get(name) if isinstance(said, dict) else None
    return said if isinstance(said, dict) else {}


def first_object(said: JsonObject, name: str) -> JsonObject:
    """The first object in the list at a name; empty if there is none."""
    listed = said.get(name)
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


def _as_json(value: object) -> str:
    return text(json.dumps(value, ensure_ascii=False)) if value else ""
