"""The tiny task is a task like any other."""

import json

import pytest

from agentbench.agents.dry_run import ScriptedAnswer, answer_body, answer_stream, write_dry_run_task
from agentbench.models.interface import ApiFormat
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors


def test_it_loads_and_its_solution_is_what_is_rehearsed(tmp_path):
    mirrors = Mirrors(tmp_path / "mirrors")
    (task,) = load_tasks([write_dry_run_task(tmp_path / "task")], mirrors=mirrors).tasks
    assert task.id == "rehearsal"
    assert b"+    return a + b" in task.answer_key.solution_patch
    assert task.answer_key.fail_to_pass == ("test_calc.py::test_two_numbers_are_added",)


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
