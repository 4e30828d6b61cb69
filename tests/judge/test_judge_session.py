"""Sessions: an agent of the caller works in a sandbox, and what it leaves is judged."""

import asyncio
import threading
from pathlib import Path

import pytest

from agentbench import Judge, RunOptions
from agentbench.attempt.logs import TRAJECTORY_FILE
from agentbench.core.host import default_cache_dir
from agentbench.errors import SandboxError, UsageError
from agentbench.judge import judge as judge_module
from agentbench.report.transcript_text import parse_trajectory
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.cleanup import find_dead_orphans
from agentbench.scoring.evidence import Ending
from agentbench.tasks.task import Task
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.small_task import FIX, FIXED
from tests.fakes.staging import small_task
from tests.judge.conftest import OpenJudge, own_threads
from tests.patience import wait_until

pytestmark = pytest.mark.full


def test_an_agent_works_in_a_sandbox_and_its_change_is_judged(
    open_judge: OpenJudge, task: Task
) -> None:
    judge = open_judge()
    with judge.session(task) as session:
        assert session.problem.instruction == task.problem.instruction
        assert b"prices[1:]" in session.read("basket.py")
        listed = session.run(["ls"])
        assert (listed.exit_code, "basket.py" in listed.stdout) == (0, True)
        answer = session.execute_tests(paths=["tests"])
        assert (answer["outcome"], answer["summary"]["passed"]) == ("passed", 2)
        assert len(session.discover_tests()["node_ids"]) == 2
        session.write("basket.py", FIXED)
        session.write("notes/new.bin", b"\x00\xff")
        assert session.read("notes/new.bin") == b"\x00\xff"
        verdict = session.score()
        assert verdict.resolved, verdict
        assert session.score() is verdict
        with pytest.raises(SandboxError, match="it has ended"):
            session.run("true")
    (record,) = RunStore.open(judge.folder).latest()
    assert (record.resolved, record.agent) == (True, "judge")
    log = (judge.folder / str(verdict.folder) / "stages" / "agent_run.log").read_text()
    assert "basket.py" in log


def test_a_session_without_a_score_is_recorded_as_interrupted(
    open_judge: OpenJudge, task: Task
) -> None:
    judge = open_judge()
    with judge.session(task) as session:
        session.run("true")
    (record,) = RunStore.open(judge.folder).latest()
    assert record.failure_reason is FailureReason.INTERRUPTED
    assert record.fault is Fault.INFRASTRUCTURE


def test_a_wrong_change_has_no_reward(open_judge: OpenJudge, task: Task) -> None:
    with open_judge().session(task) as session:
        session.run("echo >> basket.py")
        verdict = session.score(ending="step_limit", detail="it ran out of ideas")
    assert (verdict.reward, verdict.fixed) == (0.0, 0)
    assert verdict.reason is not None
    assert "it ran out of ideas" in verdict.detail


def test_a_broken_task_has_no_sandbox_and_no_reward(open_judge: OpenJudge, tmp_path: Path) -> None:
    broken = small_task(tmp_path / "broken", setup='commands = ["exit 3"]')
    with open_judge().session(broken) as session:
        assert not session.is_ready
        with pytest.raises(SandboxError, match="its task failed"):
            session.run("true")
        verdict = session.score()
    assert (verdict.reason, verdict.reward) == (FailureReason.SETUP_FAILED, None)


def test_wrong_calls_are_refused_and_lose_nothing(open_judge: OpenJudge, task: Task) -> None:
    with open_judge().session(task) as session:
        with pytest.raises(SandboxError, match="missing: cannot be read"):
            session.read("missing")
        with pytest.raises(UsageError, match="ending: expected one of submitted"):
            session.score(ending="tired")
        assert session.execute_tests(paths=7)["outcome"] == "invalid_arguments"
        assert session.run("exit 3", timeout=5).exit_code == 3
        assert session.run(FIX).ok
        assert session.score().resolved


def test_a_command_ends_with_its_time(open_judge: OpenJudge, task: Task) -> None:
    with open_judge().session(task) as session:
        assert session.run("sleep 600", timeout=0.5).ending is Ending.TIMED_OUT
        assert session.run("echo $WHO in $PWD", env={"WHO": "me"}, cwd="tests").stdout.startswith(
            "me in "
        )


def test_many_sessions_wait_without_threads(
    open_judge: OpenJudge, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "available_cpus", lambda: 1)
    monkeypatch.setattr(judge_module, "_COMMANDS_PER_CORE", 3)
    judge = open_judge(jobs=2)

    async def work(all_think: asyncio.Barrier) -> float | None:
        async with judge.session(task) as session:
            await session.run("true")
            async with all_think:  # as if models were thinking
                threads = own_threads()
                # A pool has no second thread while the first one does all: no test needs more.
                assert threads["attempt"] in (1, 2)
                assert threads["session"] in (1, 2, 3)
            await session.write("basket.py", FIXED)
            assert (await session.read("basket.py")).decode() == FIXED
            assert (await session.execute_tests())["outcome"] == "passed"
            return (await session.score()).reward

    async def together() -> list[float | None]:
        all_think = asyncio.Barrier(12)
        return await asyncio.gather(*(work(all_think) for _ in range(12)))

    assert asyncio.run(together()) == [1.0] * 12
    judge.close()
    assert not find_dead_orphans(default_cache_dir())


def wait_for_command(judge: Judge) -> None:
    """Wait until the command of the only session has begun, by its output."""

    def has_begun() -> bool:
        logs = judge.folder.glob("attempts/*/*/stages/agent_run.log")
        return any("begun" in log.read_text() for log in logs)

    wait_until(has_begun)


def test_a_cancelled_session_ends_its_command(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()

    async def cancelled() -> None:
        async def work() -> None:
            async with judge.session(task) as session:
                await session.run("echo begun; sleep 600")

        running = asyncio.create_task(work())
        await asyncio.to_thread(wait_for_command, judge)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    (record,) = RunStore.open(judge.folder).latest()
    assert record.failure_reason is FailureReason.INTERRUPTED


def test_the_end_of_a_judge_ends_its_sessions(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()
    with judge.session(task) as session:
        closing = threading.Thread(target=lambda: (wait_for_command(judge), judge.close()))
        closing.start()
        with pytest.raises(SandboxError, match="cancelled"):
            session.run("echo begun; sleep 600")
        closing.join()
        wait_until(lambda: not session.is_ready)
        assert session.score().reward is None


def test_a_judge_may_be_closed_before_a_session_in_a_loop(
    open_judge: OpenJudge, task: Task
) -> None:
    judge = open_judge()

    async def work() -> None:
        async with judge.session(task) as session:
            await asyncio.to_thread(judge.close)
            with pytest.raises(SandboxError, match="it has ended"):
                await session.run("true")

    asyncio.run(work())


def test_verdict_of_a_session_tells_what_its_agent_did(open_judge: OpenJudge, task: Task) -> None:
    options = RunOptions(runs_dir=open_judge().folder.parent, retries=0, timeline=True)
    judge = open_judge(options=options)
    with judge.session(task) as session:
        assert session.execute_tests(paths=["tests"])["outcome"] == "passed"
        session.run("cat basket.py")
        session.write("basket.py", FIXED)
        session.run(["sh", "-c", "echo done"])
        session.run("sed -i 's/min/max/' basket.py; exit 3")
        verdict = session.score()
    assert not verdict.resolved
    assert {"had-it-lost-it", "edited-after-last-test"} <= set(verdict.behaviour or ())
    assert (verdict.solved_at_step, verdict.lost_at_step) == (3, 5)
    folder = judge.folder / str(verdict.folder)
    trajectory = parse_trajectory((folder / TRAJECTORY_FILE).read_bytes())
    tools = [call.function_name for step in trajectory.steps for call in step.tool_calls or ()]
    assert tools == ["execute_tests", "run", "write", "run", "run"]
    last = trajectory.steps[-1]
    assert last.observation is not None
    assert "Exit code: 3" in last.observation.results[0].content


def test_session_without_calls_has_no_trajectory(open_judge: OpenJudge, task: Task) -> None:
    judge = open_judge()
    with judge.session(task) as session:
        verdict = session.score()
    assert verdict.behaviour == ("no-change",)
    assert not (judge.folder / str(verdict.folder) / TRAJECTORY_FILE).exists()
