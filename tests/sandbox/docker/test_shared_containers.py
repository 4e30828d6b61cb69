"""Containers that several judged runs share: taken, given back, and removed at the end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from agentbench import RunOptions, run_tasks
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.docker.sandbox import DockerSandbox
from agentbench.sandbox.docker.shared_containers import (
    ContainerKey,
    NestingSandbox,
    SharedContainers,
)
from agentbench.sandbox.interface import Limits, Sandbox, SnapshotId
from tests.e2e.conftest import discard_snapshots
from tests.patience import HANG_SECONDS
from tests.sandbox.adapted_provider import CountingProvider
from tests.sandbox.docker_fixtures import engine, left_in, provider

__all__ = ["engine", "provider"]

KEY = ContainerKey(SnapshotId("one"), Limits())
SHIPPED = Path(__file__).parents[3] / "tasks"


class Containers:
    """Opens containers without an engine, and counts them."""

    def __init__(self, *, nests: bool = True) -> None:
        self.opened = self.open_now = 0
        self._kind = _Holding if nests else _Plain

    @contextmanager
    def open(self) -> Iterator[Sandbox]:
        self.opened += 1
        self.open_now += 1
        try:
            yield cast(Sandbox, self._kind(f"container {self.opened}"))
        finally:
            self.open_now -= 1


class _Plain:
    def __init__(self, name: str) -> None:
        self.name = name


class _Holding(NestingSandbox):
    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def nested(self, cancel: Event | None = None) -> Iterator[DockerSandbox]:
        del cancel
        yield cast(DockerSandbox, f"sandbox in {self.name}")


@pytest.fixture
def background() -> BackgroundTasks:
    return BackgroundTasks()


def used(shared: SharedContainers, containers: Containers, key: ContainerKey = KEY) -> object:
    with shared.sandbox(key, containers.open, Event()) as sandbox:
        return sandbox


def test_a_container_is_used_again(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers()
    assert [used(shared, containers) for _ in range(3)] == ["sandbox in container 1"] * 3
    assert containers.open_now == 1
    background.finish()
    assert (containers.opened, containers.open_now) == (1, 0)


def test_parallel_runs_get_different_containers(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers()
    with shared.sandbox(KEY, containers.open, Event()) as first:
        second = used(shared, containers)
    assert {first, second} == {"sandbox in container 1", "sandbox in container 2"}


def test_run_waits_while_all_containers_are_taken(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background, most=1), Containers()
    with ThreadPoolExecutor(1) as pool:
        with shared.sandbox(KEY, containers.open, Event()):
            waiting = pool.submit(used, shared, containers)
            assert not waiting.done()
        assert waiting.result(HANG_SECONDS) == "sandbox in container 1"
    assert containers.opened == 1


def test_no_container_stays_after_the_run(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers()
    with shared.sandbox(KEY, containers.open, Event()):
        background.finish()
    background.finish()
    assert (containers.opened, containers.open_now) == (1, 0)


def test_waiting_for_a_container_can_be_cancelled(background: BackgroundTasks) -> None:
    shared, containers, cancel = SharedContainers(background, most=1), Containers(), Event()
    cancel.set()
    with (
        shared.sandbox(KEY, containers.open, Event()),
        pytest.raises(RunCancelled),
        shared.sandbox(KEY, containers.open, cancel),
    ):
        pass
    assert used(shared, containers) == "sandbox in container 1"


def test_other_snapshots_and_limits_get_other_containers(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers()
    used(shared, containers)
    used(shared, containers, ContainerKey(SnapshotId("two"), Limits()))
    used(shared, containers, ContainerKey(SnapshotId("one"), Limits(pids=7)))
    assert containers.opened == 3


def test_number_of_idle_containers_is_limited(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background, most=2), Containers()
    for at in range(5):
        used(shared, containers, ContainerKey(SnapshotId(str(at)), Limits()))
    background.finish()
    assert containers.open_now == 0
    assert used(shared, containers, ContainerKey(SnapshotId("4"), Limits())) is not None


def test_oldest_idle_containers_are_removed_first(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background, most=1), Containers()
    other = ContainerKey(SnapshotId("two"), Limits())
    used(shared, containers)
    used(shared, containers, other)  # the first container goes
    used(shared, containers, other)
    assert containers.opened == 2
    used(shared, containers)
    assert containers.opened == 3


def test_after_an_error_a_container_is_not_used_again(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers()
    with (
        pytest.raises(SandboxError),
        shared.sandbox(KEY, containers.open, Event()),
    ):
        raise SandboxError("lost")
    assert used(shared, containers) == "sandbox in container 2"
    background.finish()
    assert containers.open_now == 0


def test_container_without_nested_sandboxes_is_used_once(background: BackgroundTasks) -> None:
    shared, containers = SharedContainers(background), Containers(nests=False)
    first, second = used(shared, containers), used(shared, containers)
    assert first is not second
    background.finish()
    assert (containers.opened, containers.open_now) == (2, 0)


def test_a_container_that_cannot_be_created_is_an_error(background: BackgroundTasks) -> None:
    @contextmanager
    def refused() -> Iterator[Sandbox]:
        raise SandboxError("no space")
        yield

    shared = SharedContainers(background)
    for _ in range(2):
        with pytest.raises(SandboxError, match="no space"), shared.sandbox(KEY, refused, Event()):
            pass
    background.finish()


@pytest.mark.docker
@pytest.mark.parametrize("jobs", [1, 2])
def test_attempts_at_a_time_share_containers(
    provider: DockerProvider, tmp_path: Path, jobs: int
) -> None:
    counting = CountingProvider(provider.engine)
    options = RunOptions(jobs=jobs, runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache")
    task = SHIPPED / "lru-expiry"
    records = list(run_tasks([task], "oracle", sandbox=counting, attempts=4, options=options))
    left = left_in(provider.engine)
    discard_snapshots(counting, tmp_path / "cache")
    assert [record.resolved for record in records] == [True] * 4
    assert all(record.controls.sealed is not None for record in records)
    if jobs == 1:
        assert counting.holding == 0
    else:
        assert 1 <= counting.holding <= 3  # a sealed run and two final tests at a time, at most
        assert counting.ordinary <= 4 + 3  # agents, set-up
    assert left == frozenset()
