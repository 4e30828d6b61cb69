from pathlib import PurePosixPath

from agentbench.extensions.llm.agent import note_about, opening_conversation
from agentbench.models.conversation import ModelAnswer, ModelToolCall, StopReason
from tests.extensions.llm.conftest import budget_of


def test_a_report_that_looks_like_a_template_is_told_as_it_is(problem):
    asked = problem.replace(instruction="{workspace} {x} \\1 {{}}")
    told = opening_conversation(asked, PurePosixPath("/work"), budget_of(steps=5, seconds=30))
    assert "{workspace} {x} \\1 {{}}" in told.task
    assert "in the workspace, /work." in told.task
    assert "at most 5 answers and 1 minutes" in told.task


def test_only_an_answer_without_a_call_or_an_end_gets_a_note():
    call = ModelToolCall(id="1", name="run", arguments="{}")
    assert note_about(ModelAnswer(tool_calls=(call,))) == ""
    assert "called no tool" in note_about(ModelAnswer(text="done"))
    assert "cut off" in note_about(ModelAnswer(tool_calls=(call,), stop=StopReason.CUT_OFF))
