"""Reasons that end an attempt before any agent is paid, where the network is to blame."""

from pathlib import Path

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.registry import FunctionAgent
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.bench import PREPARED, Bench
from tests.e2e.hosts import closed_port, silent_host
from tests.e2e.small_task import SmallTask

CLONE = PREPARED[:1]
NOBODY = "0" * 40


def _never_paid(*_: object) -> AgentOutcome:
    raise AssertionError("an agent was paid for a broken task")


NEVER_PAID = FunctionAgent("never-paid", _never_paid)
"""An agent that a broken task must not get to."""


def test_a_host_that_refuses_fails_the_clone_as_the_network_does(
    walled_bench: Bench, tmp_path: Path
) -> None:
    url = f"https://127.0.0.1:{closed_port()}/x.git"
    task = SmallTask(repo=_at(url), files={}).write(_made(tmp_path / "small"))

    record = walled_bench.attempt(task, NEVER_PAID, walked=CLONE)

    assert record.failure_reason is FailureReason.GIT_CLONE_FAILED
    assert record.fault is Fault.INFRASTRUCTURE
    assert "127.0.0.1" in record.detail


def test_a_host_that_never_answers_times_the_clone_out(walled_bench: Bench, tmp_path: Path) -> None:
    with silent_host() as port:
        url = f"https://127.0.0.1:{port}/x.git"
        task = SmallTask(repo=_at(url), files={}).write(_made(tmp_path / "small"))

        # 1.8 s of the half hour that a clone may take
        record = walled_bench.with_timeouts(0.001).attempt(task, NEVER_PAID, walked=CLONE)

    assert record.failure_reason is FailureReason.TIMEOUT
    assert record.fault is Fault.INFRASTRUCTURE
    assert "still running after 1.8 s" in record.detail
    assert url in record.detail


def _at(url: str) -> str:
    return f'url = "{url}"\ncommit = "{NOBODY}"'


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
