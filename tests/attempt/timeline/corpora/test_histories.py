"""Timelines place the steps that solved a task and lost it again, whatever happens there."""

import json
from datetime import datetime
from pathlib import Path
from zipfile import ZipFile

import pytest

from agentbench import AttemptRecord, run_attempt
from agentbench.agents.interface import Agent
from agentbench.attempt.timeline.document import Timeline
from agentbench.taxonomy import StageName
from tests.attempt.timeline.corpora.agents import between_commands, in_pauses, starts_printed
from tests.attempt.timeline.corpora.histories import HISTORIES, AgentKind, History
from tests.attempt.timeline.corpora.shop_task import write_shop
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.scripted_attempts import SUBMIT, scripted_run
from tests.fakes.scripted_model import Call
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.full

MOST = 12


def run_history(
    history: History, bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, list[datetime]]:
    """Make the attempt; returns its folder, and when each of its commands started."""
    task = write_shop(folder / "task", history.setup)
    started: list[datetime] = []
    if history.kind is AgentKind.MODEL:
        script = [*(Call("run", {"command": line}) for line in history.lines), SUBMIT]
        run = scripted_run(bench, script, folder, monkeypatch, timeline=True)
        attempt = run / "attempts/task/1"
        trajectory = json.loads((attempt / "agent/trajectory.json").read_bytes())
        steps = (step for step in trajectory["steps"] if step["source"] == "agent")
        return attempt, [datetime.fromisoformat(step["timestamp"]) for step in steps]
    agent: Agent
    if history.kind is AgentKind.PYTHON:
        agent = between_commands(history.lines, started)
    else:
        agent = in_pauses(history.lines)
    options = bench.options.replace(timeline=True)
    record = run_attempt(task, agent, sandbox=bench.provider, options=options)
    attempt = options.runs_dir / record.run_id / "attempts/task/1"
    if history.kind is AgentKind.SHELL:
        (log,) = (each.log for each in record.stages if each.name is StageName.AGENT_RUN)
        started = starts_printed((attempt / str(log)).read_bytes())
    return attempt, started


def check_history(attempt: Path, started: list[datetime], history: History) -> None:
    """Hold a timeline against what has to be in it."""
    record = AttemptRecord.model_validate_json((attempt / "record.json").read_bytes())
    timeline = Timeline.model_validate_json((attempt / "timeline.json").read_bytes())

    def command_before(number: int | None) -> int | None:
        at = None if number is None else timeline.noted[number].at
        return None if at is None else sum(start < at for start in started)

    assert len(started) >= len(history.lines)
    assert [each.fault for each in timeline.judged if each.fault] == []
    placed = tuple(map(command_before, (timeline.first_solved, timeline.lost_again)))
    assert placed == (history.solved, history.lost)
    assert record.resolved == history.resolved
    if history.broke is not None:
        assert timeline.broken_tests() == history.broke
    assert len(timeline.judged) <= MOST
    assert len(timeline.notes) == len(history.notes), timeline.notes
    assert all(map(str.__contains__, timeline.notes, history.notes)), timeline.notes
    with ZipFile(attempt / "agent/timeline.zip") as archive:
        assert [name for name in archive.namelist() if b"every_price" in archive.read(name)] == []


@one_back_end
@pytest.mark.parametrize(
    "history", gate_and_soak([each for each in HISTORIES if each.in_gate], HISTORIES)
)
def test_steps_that_solved_and_lost_it_are_placed(
    history: History, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt, started = run_history(history, bench, tmp_path, monkeypatch)
    check_history(attempt, started, history)
