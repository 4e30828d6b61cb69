"""OpenAI responses: requests and answers as turns."""

from collections.abc import Iterable, Iterator

from agentbench.agents.trajectory.conversation import Call, Result, Speaker, Turn
from agentbench.agents.trajectory.pieces import arguments, said, shown
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import objects, text

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "assistant": Speaker.AGENT,
}


def request_turns(body: JsonObject) -> Iterator[Turn]:
    """The conversation that a request carries."""
    if body.get("instructions"):
        yield Turn(speaker=Speaker.SYSTEM, text=text(body.get("instructions")))
    given = body.get("input")
    if isinstance(given, str):
        yield Turn(speaker=Speaker.USER, text=text(given))
    for item in objects(given):
        turn = _turn(item)
        if turn is not None:
            yield turn


def answer_turn(body: JsonObject) -> Turn:
    """What the model answered: its output items, as one turn."""
    turns = [turn for item in objects(body.get("output")) if (turn := _turn(item)) is not None]
    return Turn(
        speaker=Speaker.AGENT,
        text="\n".join(turn.text for turn in turns if turn.text),
        reasoning="\n".join(turn.reasoning for turn in turns if turn.reasoning),
        calls=tuple(call for turn in turns for call in turn.calls),
    )


def streamed_turn(events: Iterable[JsonObject]) -> Turn:
    """What the model answered in a stream; every item is sent whole when it is done."""
    done = [event.get("item") for event in events if event.get("type") == _ITEM_DONE]
    return answer_turn({"output": done})


_ITEM_DONE = "response.output_item.done"


def _turn(item: JsonObject) -> Turn | None:
    kind = text(item.get("type")) or "message"
    if kind == "message":
        speaker = _SPEAKERS.get(text(item.get("role")), Speaker.USER)
        return Turn(speaker=speaker, text=said(item.get("content")))
    if kind == "reasoning":
        return Turn(speaker=Speaker.AGENT, reasoning=said(item.get("summary")))
    if kind.endswith("_call_output"):
        answer = Result(call_id=text(item.get("call_id")), text=shown(item.get("output")))
        return Turn(speaker=Speaker.USER, results=(answer,))
    if kind.endswith("_call"):
        return Turn(speaker=Speaker.AGENT, calls=(_call(item, kind),))
    return None


def _call(item: JsonObject, kind: str) -> Call:
    given = item.get("arguments") or item.get("input") or item.get("action")
    return Call(
        id=text(item.get("call_id")) or text(item.get("id")),
        name=text(item.get("name")) or kind.removesuffix("_call"),
        arguments=arguments(given),
    )
