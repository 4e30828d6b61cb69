"""OpenAI chat completions: requests and answers as turns."""

from collections.abc import Iterable, Iterator

from agentbench.agents.trajectory.conversation import Call, Result, Speaker, Turn
from agentbench.agents.trajectory.pieces import arguments, said
from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import objects, text

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "assistant": Speaker.AGENT,
}


def request_turns(body: JsonObject) -> Iterator[Turn]:
    """The conversation that a request carries."""
    for message in objects(body.get("messages")):
        if message.get("role") == "tool":
            answer = Result(
                call_id=text(message.get("tool_call_id")), text=said(message.get("content"))
            )
            yield Turn(speaker=Speaker.USER, results=(answer,))
        else:
            yield _turn(message, _SPEAKERS.get(text(message.get("role")), Speaker.USER))


def answer_turn(body: JsonObject) -> Turn:
    """What the model answered."""
    for choice in objects(body.get("choices")):
        message = choice.get("message")
        return _turn(message if isinstance(message, dict) else {}, Speaker.AGENT)
    return Turn(speaker=Speaker.AGENT)


def streamed_turn(events: Iterable[JsonObject]) -> Turn:
    """What the model answered in a stream."""
    spoken, thought = "", ""
    calls: dict[object, _Growing] = {}
    for event in events:
        for choice in objects(event.get("choices")):
            found = choice.get("delta")
            delta: JsonObject = found if isinstance(found, dict) else {}
            spoken += text(delta.get("content"))
            thought += text(_reasoning(delta))
            for part in objects(delta.get("tool_calls")):
                calls.setdefault(part.get("index", 0), _Growing()).add(part)
    return Turn(
        speaker=Speaker.AGENT,
        text=spoken,
        reasoning=thought,
        calls=tuple(call.whole() for call in calls.values()),
    )


class _Growing:
    """A call whose arguments arrive in pieces."""

    def __init__(self) -> None:
        self._id = self._name = self._arguments = ""

    def add(self, part: JsonObject) -> None:
        found = part.get("function")
        function: JsonObject = found if isinstance(found, dict) else {}
        self._id = self._id or text(part.get("id"))
        self._name = self._name or text(function.get("name"))
        self._arguments += text(function.get("arguments"))

    def whole(self) -> Call:
        return Call(id=self._id, name=self._name, arguments=arguments(self._arguments))


def _turn(message: JsonObject, speaker: Speaker) -> Turn:
    return Turn(
        speaker=speaker,
        text=said(message.get("content")) or text(message.get("refusal")),
        reasoning=text(_reasoning(message)),
        calls=tuple(_calls(message)),
    )


def _reasoning(message: JsonObject) -> object:
    return message.get("reasoning_content") or message.get("reasoning")


def _calls(message: JsonObject) -> Iterator[Call]:
    for call in objects(message.get("tool_calls")):
        growing = _Growing()
        growing.add(call)
        yield growing.whole()
