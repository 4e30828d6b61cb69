"""One answer in the words of each wire; `test_prompter` holds them against real clients."""

import json

import pytest

from agentbench.agents.dry_run import ScriptedAnswer, answer_body, answer_stream
from agentbench.models.interface import ApiFormat

WORDS = ScriptedAnswer(number=1, model="m", arguments={}, say="what is said")
CALL = ScriptedAnswer(number=2, model="m", tool="edit", arguments={"path": "a.py"})


@pytest.mark.parametrize("wire", ApiFormat)
@pytest.mark.parametrize("answer", [WORDS, CALL])
def test_whole_and_streamed_answers_say_the_same(wire, answer):
    said = answer.say or "a.py"
    assert said in json.dumps(answer_body(wire, answer))
    assert said.encode() in answer_stream(wire, answer)


@pytest.mark.parametrize("wire", ApiFormat)
def test_every_event_of_a_stream_is_json(wire):
    lines = answer_stream(wire, CALL).decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert [json.loads(each) for each in data if each != "[DONE]"]
