"""The timeline of whole attempts: when they solved the task, and when they lost that again."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from agentbench.agents.command import CommandAgent
from agentbench.attempt.timeline.document import Timeline, stored_timeline
from agentbench.taxonomy import FailureReason
from tests.e2e.bench import Bench
from tests.e2e.program import records_of, run_program, started_program
from tests.e2e.scripted_attempts import SUBMIT, scripted_run
from tests.e2e.small_task import FIX, SmallTask
from tests.fakes.scripted_model import Call, ScriptedModel
from tests.patience import wait_until

BREAK = "sed -i 's/min/max/' basket.py"
BROKEN = "tests/test_basket.py::test_the_cheapest_is_found"


def timeline_of(run: Path) -> Timeline:
    return Timeline.model_validate_json((run / "attempts/task/1/timeline.json").read_bytes())


def test_work_that_was_solved_and_lost_is_placed_at_its_steps(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("cat basket.py", FIX, "ls", "echo '# a note' >> basket.py", BREAK, "git status")
    script = [*(Call("run", {"command": line}) for line in lines), SUBMIT]
    run = scripted_run(bench, script, tmp_path, monkeypatch, timeline=True)
    timeline = timeline_of(run)
    assert [each.resolved for each in timeline.judged] == [False, True, True, False]
    assert (timeline.first_solved, timeline.lost_again) == (1, 3)
    assert timeline.judged[-1].broke == (BROKEN,)


def test_command_without_a_model_is_noted_in_its_pauses(bench: Bench, tmp_path: Path) -> None:
    task = SmallTask(agent="timeline = true").write(tmp_path / "task")
    # A pause is longer than two looks on a busy machine.
    line = f"sleep 4; {FIX}; sleep 8; {BREAK}"
    record = bench.attempt(task, CommandAgent(line))
    timeline = timeline_of(bench.options.runs_dir / record.run_id)
    assert [each.resolved for each in timeline.judged] == [False, True, False]
    assert (record.resolved, record.failure_reason) == (False, FailureReason.TESTS_FAILED)


def test_no_more_states_are_judged_than_the_run_allows(
    walled_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"echo '# {n}' >> basket.py" for n in range(8)]
    script = [*(Call("run", {"command": line}) for line in (*lines, FIX)), SUBMIT]
    options = {"timeline": True, "timeline_judgements": 4}
    timeline = timeline_of(scripted_run(walled_bench, script, tmp_path, monkeypatch, **options))
    assert (len(timeline.noted), len(timeline.judged)) == (10, 4)
    assert timeline.judged[-1].resolved


def test_hidden_tests_are_never_in_the_noted_states(
    walled_bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [Call("run", {"command": FIX}), SUBMIT]
    run = scripted_run(walled_bench, script, tmp_path, monkeypatch, timeline=True)
    with ZipFile(run / "attempts/task/1/agent/timeline.zip") as archive:  # its files are compressed
        stored = [archive.read(name) for name in archive.namelist()]
    assert any(b"sum(prices)" in content for content in stored)
    assert not any(b"test_every_price_counts" in content for content in stored)
    assert timeline_of(run).judged[-1].resolved


def test_runner_killed_while_it_judges_states_goes_on_with_them(
    walled_bench: Bench, tmp_path: Path
) -> None:
    lines = [FIX, *(f"echo '# {n}' >> basket.py" for n in range(20)), BREAK]
    script = [*(Call("run", {"command": line}) for line in lines), SUBMIT]
    task, runs = SmallTask().write(tmp_path / "task"), tmp_path / "runs"
    folder = runs / "killed" / "attempts" / "task" / "1"
    with ScriptedModel(script) as server:
        env = {**os.environ, "OPENAI_API_KEY": server.key}
        env["AGENTBENCH_CACHE"] = str(tmp_path / "cache")
        model = ("--model", "openai/scripted", "--base-url", server.base_url, "--no-probe")
        what = ("run", task, "--agent", "llm", *model, "--timeline", "--run-id", "killed")
        where = ("--sandbox", walled_bench.provider.name, "--runs-dir", runs)
        with started_program(*what, *where, env=env, cwd=tmp_path) as program:
            wait_until(lambda: stored_timeline(folder) is not None)
            program.kill()
        begun = stored_timeline(folder)
        asked = len(server.asked)
        resumed = run_program("resume", "killed", "--runs-dir", runs, env=env, cwd=tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert len(server.asked) == asked  # the agent's work was not repeated
    assert begun is not None
    assert not begun.complete
    assert "judging the timeline of task/1, which was interrupted" in resumed.stderr
    timeline = stored_timeline(folder)
    assert timeline is not None
    assert timeline.complete
    assert (timeline.first_solved, timeline.lost_again) == (1, 22)
    assert set(begun.judged) <= set(timeline.judged)
    (record,) = records_of(runs / "killed")
    assert record.failure_reason is FailureReason.TESTS_FAILED
