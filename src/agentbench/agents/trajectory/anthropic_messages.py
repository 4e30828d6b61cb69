"""Anthropic messages: requests and answers as turns."""

from collections.abc import Iterable, Iterator

from agentbench.agents.trajectory.conversation import Call, Result, Speaker, Turn
from agentbench.agents.trajectory.pieces import arguments, said, shown
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import objects, text

_SPEAKERS = {"assistant": Speaker.AGENT, "system": Speaker.SYSTEM}


def request_turns(body: JsonObject) -> Iterator[Turn]:
    """The conversation that a request carries."""
    if body.get("system"):
        yield Turn(speaker=Speaker.SYSTEM, text=said(body.get("system")))
    for message in objects(body.get("messages")):
        speaker = _SPEAKERS.get(text(message.get("role")), Speaker.USER)
        yield _turn(message.get("content"), speaker)


def answer_turn(body: JsonObject) -> Turn:
    """What the model answered."""
    return _turn(body.get("content"), Speaker.AGENT)


def streamed_turn(events: Iterable[JsonObject]) -> Turn:
    """What the model answered in a stream: blocks that grow by deltas."""
    blocks: dict[object, dict[str, str]] = {}
    for event in events:
        opened, delta = event.get("content_block"), event.get("delta")
        if isinstance(opened, dict):
            blocks[event.get("index")] = _opened(opened)
        elif isinstance(delta, dict) and event.get("index") in blocks:
            block = blocks[event.get("index")]
            block["text"] += text(delta.get("text"))
            block["thinking"] += text(delta.get("thinking"))
            block["input"] += text(delta.get("partial_json"))
    return _turn(list(blocks.values()), Speaker.AGENT)


def _opened(block: JsonObject) -> dict[str, str]:
    kept = {name: text(block.get(name)) for name in ("type", "id", "name", "text", "thinking")}
    return {**kept, "input": ""}


def _turn(content: object, speaker: Speaker) -> Turn:
    blocks = list(objects(content))
    return Turn(
        speaker=speaker,
        text=said(content),
        reasoning="\n".join(filter(None, (text(block.get("thinking")) for block in blocks))),
        calls=tuple(_call(block) for block in blocks if _is(block, "tool_use")),
        results=tuple(_result(block) for block in blocks if _is(block, "tool_result")),
    )


def _is(block: JsonObject, kind: str) -> bool:
    return text(block.get("type")).endswith(kind)  # server_tool_use is one, too


def _call(block: JsonObject) -> Call:
    return Call(
        id=text(block.get("id")),
        name=text(block.get("name")),
        arguments=arguments(block.get("input")),
    )


def _result(block: JsonObject) -> Result:
    return Result(call_id=text(block.get("tool_use_id")), text=shown(block.get("content")))
