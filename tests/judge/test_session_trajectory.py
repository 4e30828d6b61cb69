"""The trajectory of a session's calls, within its limits."""

from datetime import UTC, datetime
from pathlib import Path

from agentbench.attempt.logs import TRAJECTORY_FILE
from agentbench.judge.session_trajectory import SessionTrajectory
from agentbench.models.trajectory import Trajectory
from agentbench.report.transcript_text import parse_trajectory

START = datetime(2026, 11, 29, tzinfo=UTC)


def written(calls: SessionTrajectory, folder: Path) -> Trajectory:
    calls.write(folder, "run/task/1")
    return parse_trajectory((folder / TRAJECTORY_FILE).read_bytes())


def test_long_answer_keeps_its_head_and_its_tail(tmp_path: Path) -> None:
    calls = SessionTrajectory()
    calls.add("run", {"command": "make"}, "first" + "x" * 100_000 + "last", START)
    (step,) = written(calls, tmp_path).steps
    assert step.observation is not None
    (answer,) = step.observation.results
    assert answer.content.startswith("first")
    assert answer.content.endswith("last")
    assert "[... 92009 characters left out ...]" in answer.content


def test_calls_beyond_the_limit_are_left_out_and_said(tmp_path: Path) -> None:
    calls = SessionTrajectory()
    for _ in range(1_001):
        calls.add("run", {"command": "ls"}, "", START)
    trajectory = written(calls, tmp_path)
    assert len(trajectory.steps) == 1_000
    assert trajectory.notes == "only the first 1000 calls are listed"


def test_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    calls = SessionTrajectory()
    calls.add("run", {"command": "cat \udcff"}, "\udcff", START)
    assert written(calls, tmp_path).steps[0].step_id == 1
