"""One answer in the words of each wire; `test_prompter` holds them against real clients."""

import json

import pytest

from agentbench.agents.model_door import Wire
from agentbench.agents.rehearsal.answers import Answer, refusal, streamed, whole

WORDS = Answer(number=1, model="m", arguments={}, say="what is said")
CALL = Answer(number=2, model="m", tool="edit", arguments={"path": "a.py"})


@pytest.mark.parametrize("wire", Wire)
@pytest.mark.parametrize("answer", [WORDS, CALL])
def test_whole_and_streamed_answers_say_the_same(wire, answer):
    said = answer.say or "a.py"
    assert said in json.dumps(whole(wire, answer))
    assert said.encode() in streamed(wire, answer)


@pytest.mark.parametrize("wire", Wire)
def test_every_event_of_a_stream_is_json(wire):
    lines = streamed(wire, CALL).decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert [json.loads(each) for each in data if each != "[DONE]"]


@pytest.mark.parametrize("wire", Wire)
def test_a_refusal_says_why(wire):
    assert "refuses every key" in json.dumps(refusal(wire))
