import pytest

from agentbench.models.trajectory import Step
from agentbench.report.transcript_text import transcript
from tests.models.test_build import CALL, RESULT, TASK, completion, exchange, says, told


def left(folder, content):
    (folder / "agent").mkdir()
    path = folder / "agent" / "trajectory.json"
    path.write_bytes(content if isinstance(content, bytes) else content.model_dump_json().encode())
    return list(transcript(folder))


def conversation(*answers):
    return told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says(*answers))),
    )


def test_an_attempt_without_a_trajectory_has_nothing_to_tell(tmp_path):
    assert list(transcript(tmp_path)) == []


def test_each_step_is_told_with_its_calls_and_what_came_of_them(tmp_path):
    lines = left(tmp_path, conversation("done"))
    assert lines[0].startswith("transcript: 3 steps, whole in ")
    assert lines[1:] == [
        "    1 user   mend it",
        "    2 agent  looking [5 in, 0 out]",
        "      call   read(path='a.py')",
        "      result 1: x",
        "    3 agent  done [5 in, 0 out]",
    ]


def test_what_a_model_says_cannot_command_the_terminal(tmp_path):
    shown = "\n".join(left(tmp_path, conversation("a\x1b[31mred\x07\u202e")))
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_a_long_trajectory_is_shown_from_both_ends(tmp_path):
    one = conversation("done")
    steps = tuple(Step(step_id=n, source="user", message=f"say {n}") for n in range(1, 101))
    lines = left(tmp_path, one.replace(steps=steps))
    assert "  … 40 more steps" in lines
    assert lines[-1].endswith("say 100")
    assert len(lines) == 62


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"[1"])
def test_a_trajectory_that_is_broken_is_told_in_a_line(tmp_path, content):
    (line,) = left(tmp_path, content)
    assert "cannot be read" in line


def test_a_step_of_any_length_is_one_line(tmp_path):
    lines = left(tmp_path, conversation("x\n" * 1_000_000))
    assert max(map(len, lines[1:])) < 400
