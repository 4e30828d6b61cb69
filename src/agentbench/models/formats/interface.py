"""What the gateway and trajectories have to know about an API format."""

import json
from collections.abc import Iterator
from typing import Protocol

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import json_object, objects, text
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts


class FormatAdapter(Protocol):
    """How one wire writes what the gateway reads and answers."""

    @property
    def api_format(self) -> ApiFormat:
        """Which one it is."""

    @property
    def quota_status(self) -> int:
        """The status under which its clients take a spent budget for final, and do not retry."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """The request so that its stream will tell tokens; None where it will as it is."""

    def is_extra(self, event: JsonObject) -> bool:
        """Whether a stream has this event only since the request was amended."""

    def tokens(self, said: JsonObject, before: TokenCounts | None = None) -> TokenCounts | None:
        """What a whole answer, or an event of a stream after others, says of tokens so far."""

    def ends(self, event: JsonObject) -> bool:
        """Whether a stream is whole with this event."""

    def refuses(self, said: JsonObject) -> bool:
        """Whether an answer or an event says that the model will not answer."""

    def error(self, event: JsonObject) -> JsonObject | None:
        """The error that an event of a stream carries, in the form of an error's body."""

    def error_body(self, kind: ModelErrorKind, status: int, message: str) -> JsonObject:
        """An error of our own, in the provider's form."""


class TokensInStream:
    """Part of a format whose streams tell their tokens as they are."""

    def amended(self, request: JsonObject) -> JsonObject | None:
        """Nothing has to be asked for."""
        del request
        return None

    def is_extra(self, event: JsonObject) -> bool:
        """Never."""
        del event
        return False


def nested_object(said: object, *names: str) -> JsonObject:
    """The object under these names, one within the other; empty where there is none."""
    for name in names:
        said = said.get(name) if isinstance(said, dict) else None
    return said if isinstance(said, dict) else {}


def first_object(said: JsonObject, name: str) -> JsonObject:
    """The first object of the list under a name; empty where there is none."""
    listed = said.get(name)
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}


def content_text(value: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return text(value)
    return "\n".join(filter(None, (text(part.get("text")) for part in objects(value))))


def parse_arguments(value: object) -> JsonObject:
    """The arguments of a call: an object, or one as JSON; what is neither is kept as text."""
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
    """The objects that a stream of server-sent events carried, in their order."""
    for line in stream.splitlines():
        if line.startswith("data:") and (found := json_object(line[5:].strip())) is not None:
            yield found


def _as_json(value: object) -> str:
    return text(json.dumps(value, ensure_ascii=False)) if value else ""
