import re

import pytest

from agentbench.extensions.view.attempt_files import STEPS_PER_PAGE, read_transcript_page
from agentbench.extensions.view.rendering import render_page
from agentbench.extensions.view.runs_folder import RunsFolder
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Observation, ObservationResult, Step, ToolCall
from tests.models.test_trajectory import CALL, RESULT, TASK, completion, exchange, says, told


def left(folder, content, number=1):
    (folder / "agent").mkdir(exist_ok=True)
    data = content if isinstance(content, bytes) else content.model_dump_json().encode()
    (folder / "agent" / "trajectory.json").write_bytes(data)
    return read_transcript_page(RunsFolder(folder), folder.resolve(), number)


def conversation(*steps):
    one = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    return one.replace(steps=tuple(steps)) if steps else one


def rendered(folder, content):
    """The page of a transcript: its texts, one a line."""
    page = render_page("transcript.html", transcript=left(folder, content))
    return re.sub(r"<[^>]*>", "\n", page).replace("&#39;", "'").split("\n")


def test_calls_come_with_what_came_of_them(tmp_path):
    lines = [line for line in rendered(tmp_path, conversation()) if line]
    assert "3 steps" in lines
    at = lines.index("read(path='a.py')")
    assert lines[at + 1 : at + 5] == ["path", "a.py", "Result", "1: x"]
    assert "done" in lines


def test_what_answers_no_call_is_told_by_itself(tmp_path):
    step = Step(
        step_id=1,
        source=Role.AGENT,
        message="",
        tool_calls=(ToolCall(tool_call_id="a", function_name="f", arguments={"n": 1}),),
        observation=Observation(results=(ObservationResult(content="alone"),)),
    )
    lines = [line for line in rendered(tmp_path, conversation(step)) if line]
    at = lines.index("f(n=1)")
    assert lines[at + 1 : at + 5] == ["n", "1", "Observation", "alone"]
    assert "Result" not in lines


def test_a_long_transcript_is_shown_a_page_at_a_time(tmp_path):
    steps = [
        Step(step_id=n, source=Role.USER, message=f"say {n}") for n in range(1, STEPS_PER_PAGE + 8)
    ]
    page = left(tmp_path, conversation(*steps), number=2)
    assert [step.step_id for step in page.page.items] == list(
        range(STEPS_PER_PAGE + 1, STEPS_PER_PAGE + 8)
    )
    assert (page.page.number, page.page.count) == (2, 2)
    assert left(tmp_path, conversation(*steps), number=99).page.number == 2


def test_a_text_of_any_length_is_cut(tmp_path):
    step = Step(step_id=1, source=Role.USER, message="x" * 1_000_000)
    lines = rendered(tmp_path, conversation(step))
    assert "… 980000 more characters" in lines
    assert max(map(len, lines)) == 20_000


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1", b'{"steps": []}'])
def test_a_transcript_that_is_broken_is_told(tmp_path, content):
    assert left(tmp_path, content).problem


def test_no_transcript_is_none(tmp_path):
    assert read_transcript_page(RunsFolder(tmp_path), tmp_path.resolve(), 1) is None
