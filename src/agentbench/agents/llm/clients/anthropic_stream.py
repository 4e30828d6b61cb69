"""An answer of Anthropic's as it grows, event by event."""

import json
from collections import defaultdict

from agentbench.agents.gateway.wires.wire_format import object_in
from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.conversation import Answer, Stop, ToolCall
from agentbench.agents.model_door import ModelErrorKind, ModelFailure
from agentbench.pytest_results.model import JsonObject

_STOPS = {
    "max_tokens": Stop.CUT_OFF,
    "model_context_window_exceeded": Stop.CUT_OFF,
    "refusal": Stop.REFUSED,
}
_THOUGHTS = {"thinking", "redacted_thinking"}
_FIELDS = {
    "text": ("text",),
    "tool_use": ("id", "name"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
"""The blocks of content that an answer may have; all fields but a call's input are text."""

_DELTAS = {
    "text": "text",
    "thinking": "thinking",
    "signature": "signature",
    "partial_json": "input",
}
"""What a delta brings, and the field that it belongs to."""


def object_of(arguments: str) -> JsonObject:
    """The arguments of a call, or nothing where they are no object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class StreamedMessage:
    """Takes events in their order."""

    def __init__(self) -> None:
        self._blocks: dict[object, _Block] = {}
        self._stop: object = None

    def take(self, event: JsonObject) -> None:
        """Add what an event brings; kinds that are not known bring nothing."""
        delta, block = object_in(event, "delta"), object_in(event, "content_block")
        if event.get("type") == "content_block_start" and block.get("type") in _FIELDS:
            self._blocks[event.get("index")] = _Block(block)
        elif event.get("type") == "content_block_delta" and event.get("index") in self._blocks:
            self._blocks[event.get("index")].take(delta)
        elif event.get("type") == "message_delta":
            self._stop = delta.get("stop_reason") or self._stop

    def whole(self) -> Answer:
        """What came, if it came to its end.

        Raises:
            UnansweredError: it did not.
        """
        if self._stop is None:
            message = "the stream ended before the answer did"
            kind = ModelErrorKind.CUT_STREAM
            raise UnansweredError(ModelFailure(kind=kind, status=None, message=message))
        blocks = list(self._blocks.values())
        thought = any(block.kind in _THOUGHTS for block in blocks)
        return Answer(
            text="".join(block.text("text") for block in blocks),
            tool_calls=tuple(block.call for block in blocks if block.kind == "tool_use"),
            stop=_STOPS.get(str(self._stop), Stop.DONE),
            verbatim=tuple(block.whole for block in blocks if not block.is_empty)
            if thought
            else (),
        )


class _Block:
    def __init__(self, start: JsonObject) -> None:
        self.kind = str(start.get("type"))
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)
        for name in _FIELDS[self.kind]:
            self._pieces[name].append(str(start.get(name) or ""))
        if start.get("input"):  # it does not come in pieces, then
            self._pieces["input"].append(json.dumps(start["input"]))

    def take(self, delta: JsonObject) -> None:
        """Add a piece to the field that it belongs to."""
        for told, name in _DELTAS.items():
            if told in delta:
                self._pieces[name].append(str(delta[told]))

    def text(self, name: str) -> str:
        """A field as far as it has come."""
        return "".join(self._pieces[name])

    @property
    def call(self) -> ToolCall:
        """The block as a call of a tool."""
        return ToolCall(id=self.text("id"), name=self.text("name"), arguments=self.text("input"))

    @property
    def is_empty(self) -> bool:
        """Whether it is text without any, which would be refused."""
        return self.kind == "text" and not self.text("text")

    @property
    def whole(self) -> JsonObject:
        """The block in one piece."""
        told: JsonObject = {name: self.text(name) for name in _FIELDS[self.kind]}
        given = {"input": object_of(self.text("input"))} if self.kind == "tool_use" else {}
        return {"type": self.kind, **told, **given}
