"""Pieces of messages that all wires have in some form; whatever is odd about them is left out."""

import json
from collections.abc import Iterator

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import json_object, objects, text


def said(value: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(value, str):
        return text(value)
    return "\n".join(filter(None, (text(part.get("text")) for part in objects(value))))


def arguments(value: object) -> JsonObject:
    """The arguments of a call: an object, or one as JSON; what is neither is kept as text."""
    if isinstance(value, dict):
        return value
    found = json_object(value) if isinstance(value, str) else None
    if found is not None:
        return found
    return {"_unparsed": text(value)} if value else {}


def shown(value: object) -> str:
    """A tool's answer as text: content parts, or any other value as JSON."""
    if isinstance(value, str | list):
        return said(value) or ("" if isinstance(value, str) else _as_json(value))
    return "" if value is None else _as_json(value)


def events(stream: str) -> Iterator[JsonObject]:
    """The objects that a stream of server-sent events carried, in their order."""
    for line in stream.splitlines():
        if line.startswith("data:") and (found := json_object(line[5:].strip())) is not None:
            yield found


def _as_json(value: object) -> str:
    return text(json.dumps(value, ensure_ascii=False)) if value else ""
