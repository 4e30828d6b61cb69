"""Sandboxes of thinking agents are frozen while memory is short, and go on with the next call."""

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
def parking(sessions: list) -> Iterator[None]:
    """Parks sessions as if memory were short."""
    parks = Parking(lambda: sessions, lambda: True, poll=0.01)
    parks.start()
    yield
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
        with parking([session]):
            wait_until(lambda: session.is_parked)
        with engine.api("look at containers") as api:
            assert api.containers(filters={"status": "paused"})
        ticks = len(session.read("/tmp/ticks"))  # goes on
        assert not session.is_parked
        wait_until(lambda: len(session.read("/tmp/ticks")) > ticks)
        session.write("basket.py", FIXED)
        with parking([session]):
            wait_until(lambda: session.is_parked)
        verdict = session.score()
    assert verdict.resolved, verdict


def test_a_parked_session_is_closed(
    open_judge: OpenJudge, provider: SandboxProvider, lasting: Task
) -> None:
    judge = open_judge(sandbox=provider)
    with judge.session(lasting) as session, parking([session]):
        wait_until(lambda: session.is_parked)
    assert not session.is_parked


class Recorder:
    """A session that notes what is asked of it."""

    def __init__(self) -> None:
        self.calls = 0

    def park(self, *, idle_seconds: float) -> None:
        assert idle_seconds > 0
        self.calls += 1


@pytest.mark.parametrize("is_short", [False, True])
def test_sandboxes_are_frozen_only_while_memory_is_short(*, is_short: bool) -> None:
    session, looks = Recorder(), 0

    def look() -> bool:
        """Count the looks."""
        nonlocal looks
        looks += 1
        return is_short

    parks = Parking(lambda: [session], look, poll=0.01)
    parks.start()
    wait_until(lambda: looks >= 3)  # what follows the first ones has happened
    parks.close()
    assert bool(session.calls) is is_short


def test_a_sandbox_in_which_nothing_runs_is_left_alone(
    open_judge: OpenJudge, provider: SandboxProvider, tmp_path: Path
) -> None:
    judge = open_judge(sandbox=provider)
    task = own_task(tmp_path / "small")
    with judge.session(task) as session:
        session.park(idle_seconds=0.0)
        assert not session.is_parked
