"""Reasons that the agent's own stage gives; test_failure_causes.py has all those of bubblewrap."""

from pathlib import Path

import pytest

from agentbench.scoring.evidence import AgentEnding
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX, SmallTask

FAULTY = "tests.e2e.agents_at_fault:"


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("echo the key is wrong >&2; exit 1", "agent exited 1: the key is wrong"),
        ("true; no-such-agent --fix", "Agent command not found: no-such-agent"),
        ("kill -SEGV $$", "agent was killed by signal 11"),
    ],
)
def test_a_command_that_fails_is_a_tool_error(
    bench: Bench, tmp_path: Path, line: str, detail: str
) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), line)

    assert record.failure_reason is FailureReason.TOOL_ERROR
    assert record.fault is Fault.AGENT
    assert detail.replace("sh: 1: ", "") in record.detail.replace("sh: 1: ", "")


def test_a_command_that_hangs_runs_out_of_time(bench: Bench, tmp_path: Path) -> None:
    task = SmallTask(agent="timeout_s = 2").write(tmp_path / "small")

    record = bench.command(task, "setsid sleep 600 & sleep 600")

    assert record.failure_reason is FailureReason.TIMEOUT
    assert record.fault is Fault.AGENT
    assert "still running after 2 s" in record.detail


def test_an_agent_that_hangs_in_python_runs_out_of_time(
    walled_bench: Bench, tmp_path: Path
) -> None:
    task = SmallTask(agent="timeout_s = 1").write(tmp_path / "small")

    record = walled_bench.attempt(task, FAULTY + "hangs")

    assert record.failure_reason is FailureReason.TIMEOUT
    assert record.fault is Fault.AGENT
    assert "still running after 1 s" in record.detail


@one_back_end
def test_a_fix_counts_however_the_agent_stopped(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), f"{FIX}; exit 1")

    assert record.resolved
    assert record.failure_reason is None
    assert record.agent_run is not None
    assert record.agent_run.ending is AgentEnding.TOOL_ERROR


def test_an_agent_that_eats_its_memory_is_a_lost_sandbox(bench: Bench, tmp_path: Path) -> None:
    task = SmallTask(environment="memory_mib = 128").write(tmp_path / "small")

    record = bench.command(task, "exec python -c 'x = bytearray(1); x *= 1 << 30'")

    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.AGENT
    assert record.detail == "out of memory (limit 128 MiB)"
