import pytest

from agentbench.models.atif import Observation, ObservationResult, Step, ToolCall
from agentbench.models.conversation import Role
from agentbench.view.attempt_files import STEPS_PER_PAGE, read_transcript_page
from agentbench.view.runs_folder import RunsFolder
from tests.models.test_build import CALL, RESULT, TASK, completion, exchange, says, told


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
    return one.model_copy(update={"steps": tuple(steps)}) if steps else one


def test_calls_come_with_what_came_of_them(tmp_path):
    page = left(tmp_path, conversation())
    assert (page.total, page.count, page.problem) == (3, 1, "")
    (call,) = page.steps[1].calls
    assert call.line == "read(path='a.py')"
    assert call.arguments == (("path", "a.py"),)
    assert call.results == ("1: x",)
    assert page.steps[2].message == "done"


def test_what_answers_no_call_is_told_by_itself(tmp_path):
    step = Step(
        step_id=1,
        source=Role.AGENT,
        message="",
        tool_calls=(ToolCall(tool_call_id="a", function_name="f", arguments={"n": 1}),),
        observation=Observation(results=(ObservationResult(content="alone"),)),
    )
    (shown,) = left(tmp_path, conversation(step)).steps
    assert shown.results == ("alone",)
    assert shown.calls[0].results == ()
    assert shown.calls[0].arguments == (("n", "1"),)


def test_a_long_transcript_is_shown_a_page_at_a_time(tmp_path):
    steps = [
        Step(step_id=n, source=Role.USER, message=f"say {n}") for n in range(1, STEPS_PER_PAGE + 8)
    ]
    page = left(tmp_path, conversation(*steps), number=2)
    assert [shown.step.step_id for shown in page.steps] == list(
        range(STEPS_PER_PAGE + 1, STEPS_PER_PAGE + 8)
    )
    assert (page.number, page.count) == (2, 2)
    assert left(tmp_path, conversation(*steps), number=99).number == 2


def test_a_text_of_any_length_is_cut(tmp_path):
    step = Step(step_id=1, source=Role.USER, message="x" * 1_000_000)
    (shown,) = left(tmp_path, conversation(step)).steps
    assert shown.message.endswith("980000 more characters")
    assert len(shown.message) < 21_000


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1", b'{"steps": []}'])
def test_a_transcript_that_is_broken_is_told(tmp_path, content):
    assert left(tmp_path, content).problem


def test_no_transcript_is_none(tmp_path):
    assert read_transcript_page(RunsFolder(tmp_path), tmp_path.resolve(), 1) is None
