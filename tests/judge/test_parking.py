"""Sandboxes of thinking agents are frozen while memory is short, and go on with the next call."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbench.judge.parking import Parking
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task
from tests.e2e.small_task import FIXED
from tests.fakes.staging import own_task
from tests.judge.conftest import OpenJudge
from tests.patience import wait_until
from tests.sandbox.docker_fixtures import engine, provider

__all__ = ["engine", "provider"]

pytestmark = pytest.mark.docker

_COUNT = "setsid sh -c 'while :; do echo >> /tmp/ticks; sleep 0.05; done' >/dev/null 2>&1 &"


@contextmanager
def parking(sessions: list, *, is_short: bool) -> Iterator[threading.Event]:
    """Parking that looks at the memory all the time; the event says that it has looked."""
    looked = threading.Event()

    def look() -> bool:
        """Say that memory is short, or not."""
        looked.set()
        return is_short

    parks = Parking(lambda: sessions, look, poll=0.01)
    parks.start()
    yield looked
    parks.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return own_task(tmp_path_factory.mktemp("task") / "lasting", environment="lasting = true")


def test_what_runs_between_calls_is_frozen_until_the_next_one(
    open_judge: OpenJudge, provider: SandboxProvider, lasting: Task, engine: Engine
) -> None:
    judge = open_judge(sandbox=provider)
    with judge.session(lasting) as session:
        session.run(["sh", "-c", _COUNT])
        with parking([session], is_short=True):
            wait_until(lambda: session.is_parked)
        with engine.api("look at containers") as api:
            assert api.containers(filters={"status": "paused"})
        ticks = len(session.read("/tmp/ticks"))  # goes on
        assert not session.is_parked
        wait_until(lambda: len(session.read("/tmp/ticks")) > ticks)
        session.write("basket.py", FIXED)
        with parking([session], is_short=True):
            wait_until(lambda: session.is_parked)
        verdict = session.score()
    assert verdict.resolved, verdict


def test_a_parked_session_is_closed(
    open_judge: OpenJudge, provider: SandboxProvider, lasting: Task
) -> None:
    judge = open_judge(sandbox=provider)
    with judge.session(lasting) as session, parking([session], is_short=True):
        wait_until(lambda: session.is_parked)
    assert not session.is_parked


def test_nothing_is_frozen_while_there_is_memory(
    open_judge: OpenJudge, provider: SandboxProvider, lasting: Task
) -> None:
    judge = open_judge(sandbox=provider)
    with judge.session(lasting) as session, parking([session], is_short=False) as looked:
        assert looked.wait(60)
        assert not session.is_parked
        assert session.run("true").ok


def test_a_sandbox_in_which_nothing_runs_is_left_alone(
    open_judge: OpenJudge, provider: SandboxProvider, tmp_path: Path
) -> None:
    judge = open_judge(sandbox=provider)
    task = own_task(tmp_path / "small")
    with judge.session(task) as session:
        session.park(idle_seconds=0.0)
        assert not session.is_parked
