"""Reasons that end an attempt before any agent is paid: the repository, set-up, the baseline."""

import subprocess
from pathlib import Path

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.registry import FunctionAgent
from agentbench.taxonomy import FailureReason, Fault, StageName
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import PREPARED, Bench
from tests.e2e.hosts import closed_port, silent_host
from tests.e2e.small_task import FIXED, SmallTask

CLONE = PREPARED[:1]
CHECKOUT = PREPARED[:2]
BASELINE = (*PREPARED, StageName.BASELINE_RUN)
NOBODY = "0" * 40


def _never_paid(*_: object) -> AgentOutcome:
    raise AssertionError("an agent was paid for a broken task")


NEVER_PAID = FunctionAgent("never-paid", _never_paid)
"""An agent that a broken task must not get to."""


@one_back_end
def test_a_repository_that_is_not_there_fails_the_clone(bench: Bench, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/gone.git"
    task = SmallTask(repo=_at(url), files={}).write(_made(tmp_path / "small"))

    record = bench.attempt(task, NEVER_PAID, walked=CLONE)

    assert record.failure_reason is FailureReason.GIT_CLONE_FAILED
    assert record.fault is Fault.TASK
    assert url in record.detail


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


@one_back_end
def test_a_commit_that_is_not_there_fails_the_checkout(bench: Bench, tmp_path: Path) -> None:
    origin = _repository(tmp_path / "origin")
    task = SmallTask(repo=_at(f"file://{origin}"), files={}).write(_made(tmp_path / "small"))

    record = bench.attempt(task, NEVER_PAID, walked=CHECKOUT)

    assert record.failure_reason is FailureReason.GIT_CHECKOUT_FAILED
    assert record.fault is Fault.TASK
    assert f"has no commit {NOBODY}" in record.detail


@one_back_end
def test_a_setup_that_fails_ends_the_attempt(bench: Bench, tmp_path: Path) -> None:
    setup = 'commands = ["true", "echo no compiler here >&2; exit 3"]'
    task = SmallTask(setup=setup).write(tmp_path / "small")

    record = bench.attempt(task, NEVER_PAID, walked=PREPARED)

    assert record.failure_reason is FailureReason.SETUP_FAILED
    assert record.fault is Fault.TASK
    assert "exit code 3" in record.detail
    assert "no compiler here" in record.detail


@one_back_end
def test_a_setup_that_hangs_times_out(bench: Bench, tmp_path: Path) -> None:
    setup = 'commands = ["sleep 600 & setsid sleep 600"]\ntimeout_s = 1.5'
    task = SmallTask(setup=setup).write(tmp_path / "small")

    record = bench.attempt(task, NEVER_PAID, walked=PREPARED)

    assert record.failure_reason is FailureReason.SETUP_TIMEOUT
    assert record.fault is Fault.TASK
    assert "still running after 1.5 s: sh -c sleep 600" in record.detail


@one_back_end
def test_a_setup_that_eats_its_memory_is_a_lost_sandbox(bench: Bench, tmp_path: Path) -> None:
    setup = """commands = ["python -c 'x = bytearray(1); x *= 1 << 30'"]"""
    task = SmallTask(setup=setup, environment="memory_mib = 128").write(tmp_path / "small")

    record = bench.attempt(task, NEVER_PAID, walked=PREPARED)

    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.TASK
    assert record.detail == "out of memory (limit 128 MiB)"


@one_back_end
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "unlisted"])
def test_a_bug_that_is_not_there_ends_the_attempt(
    bench: Bench, tmp_path: Path, *, listed: bool
) -> None:
    small = SmallTask(files={**SmallTask().files, "basket.py": FIXED})
    task = (small if listed else SmallTask(files=small.files, fail_to_pass=())).write(
        tmp_path / "s"
    )

    record = bench.attempt(task, NEVER_PAID, walked=BASELINE)

    assert record.failure_reason is FailureReason.BASELINE_NOT_FAILING
    assert record.fault is Fault.TASK
    assert "before any fix" in record.detail


def _at(url: str) -> str:
    return f'url = "{url}"\ncommit = "{NOBODY}"'


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _repository(folder: Path) -> Path:
    for arguments in (
        ["init", "--quiet", str(folder)],
        ["-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet",
         "--allow-empty", "--message", "Begin"],
    ):  # fmt: skip
        subprocess.run(["git", *arguments], check=True)
    return folder
