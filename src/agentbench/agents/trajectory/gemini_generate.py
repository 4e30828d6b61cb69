"""Gemini generateContent: requests and answers as turns; its calls bear no ids of their own."""

from collections.abc import Iterable, Iterator

from agentbench.agents.trajectory.conversation import Call, Result, Speaker, Turn
from agentbench.agents.trajectory.pieces import arguments, said, shown
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import objects, text


def request_turns(body: JsonObject) -> Iterator[Turn]:
    """The conversation that a request carries."""
    system = body.get("systemInstruction") or body.get("system_instruction")
    if isinstance(system, dict):
        yield Turn(speaker=Speaker.SYSTEM, text=said(system.get("parts")))
    for content in objects(body.get("contents")):
        speaker = Speaker.AGENT if content.get("role") == "model" else Speaker.USER
        yield _turn(objects(content.get("parts")), speaker)


def answer_turn(body: JsonObject) -> Turn:
    """What the model answered."""
    return _turn(_parts(body), Speaker.AGENT)


def streamed_turn(events: Iterable[JsonObject]) -> Turn:
    """What the model answered in a stream: each event brings further parts."""
    return _turn((part for event in events for part in _parts(event)), Speaker.AGENT)


def _parts(body: JsonObject) -> Iterator[JsonObject]:
    for candidate in objects(body.get("candidates")):
        content = candidate.get("content")
        yield from objects(content.get("parts") if isinstance(content, dict) else None)


def _turn(parts: Iterable[JsonObject], speaker: Speaker) -> Turn:
    spoken, thought = "", ""
    calls: list[Call] = []
    results: list[Result] = []
    for part in parts:
        call, answer = part.get("functionCall"), part.get("functionResponse")
        if part.get("thought") is True:
            thought += text(part.get("text"))
        else:
            spoken += text(part.get("text"))
        if isinstance(call, dict):
            calls.append(_call(call))
        if isinstance(answer, dict):
            results.append(Result(call_id=_id(answer), text=shown(answer.get("response"))))
    return Turn(
        speaker=speaker,
        text=spoken,
        reasoning=thought,
        calls=tuple(calls),
        results=tuple(results),
    )


def _call(call: JsonObject) -> Call:
    return Call(id=_id(call), name=text(call.get("name")), arguments=arguments(call.get("args")))


def _id(found: JsonObject) -> str:
    return text(found.get("id")) or text(found.get("name"))
