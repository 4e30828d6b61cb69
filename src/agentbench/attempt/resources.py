"""The resources that all attempts of a run share, their slots, and the status of running ones."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Lock

from agentbench.attempt.outages import CircuitBreaker
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.record import RunId
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.shared_preparations import SharedPreparations
from agentbench.attempt.task_image import resolve_image
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.display_text import secrets_in
from agentbench.models.interface import ModelGateway, ModelTraffic
from agentbench.sandbox.interface import EngineProvider, ImageId, SandboxProvider
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName


@dataclass(slots=True, kw_only=True)
class AttemptStatus:
    """The status of one running attempt; one thread writes it, others read."""

    task_id: TaskId
    attempt: int
    retry_of: int | None = None
    began: float = 0.0  # by the clock of LiveStatus, in seconds
    where: str | None = None  # None: on this machine
    stage: StageName | None = None  # None: the attempt waits to begin
    stage_began: float = 0.0  # by the same clock
    limit: timedelta | None = None  # of the stage; in git_clone, of each part
    log: Path | None = None  # of the stage
    waits_for: Callable[[], str | None] | None = None  # before the first stage: what is unavailable
    traffic: Callable[[], ModelTraffic] | None = None  # with its model; None: it has none yet


@dataclass(slots=True, kw_only=True)
class LiveStatus:
    """The running attempts; safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _running: dict[int, AttemptStatus] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, task_id: TaskId, attempt: int, *, retry_of: int | None = None) -> AttemptStatus:
        status = AttemptStatus(
            task_id=task_id, attempt=attempt, retry_of=retry_of, began=self.clock()
        )
        with self._lock:
            self._running[id(status)] = status
        return status

    def end(self, status: AttemptStatus) -> None:
        with self._lock:
            self._running.pop(id(status), None)

    @contextmanager
    def tracked(self, task_id: TaskId, attempt: int) -> Iterator[AttemptStatus]:
        status = self.begin(task_id, attempt)
        try:
            yield status
        finally:
            self.end(status)

    def running(self) -> tuple[AttemptStatus, ...]:
        """The running attempts, in the order in which they began."""
        with self._lock:
            return tuple(self._running.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """The resources that all attempts of a run share."""

    provider: SandboxProvider
    mirrors: Mirrors
    cache: PreparationCache
    cancel: Event
    settings: RunSettings = field(default_factory=RunSettings)
    shared: SharedPreparations | None = None  # with other machines, through a registry
    gateway: ModelGateway | None = None
    secrets: frozenset[str] = frozenset()  # of this machine; removed from logs
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    images: dict[str | None, ImageId] = field(default_factory=dict)  # by their names in tasks
    live_status: LiveStatus = field(default_factory=LiveStatus)
    breaker: CircuitBreaker = field(default_factory=lambda: CircuitBreaker(cancel=Event()))

    @classmethod
    def of(
        cls,
        provider: SandboxProvider,
        settings: RunSettings,
        *,
        cache_dir: Path,
        cancel: Event | None = None,
    ) -> "RunResources":
        """The resources below a cache folder, without a gateway.

        Raises:
            UsageError: preparations of this back end cannot be shared through a registry.
        """
        cancel = cancel if cancel is not None else Event()
        cache = PreparationCache(cache_dir / "prepared", provider)
        registry = settings.registry if settings.use_cache else None
        timeout = CLONE_TIMEOUT * settings.timeout_scale
        return cls(
            provider=provider,
            mirrors=Mirrors(cache_dir / "mirrors", timeout=timeout, cancel=cancel),
            cache=cache,
            cancel=cancel,
            settings=settings,
            shared=None if registry is None else SharedPreparations(registry, cache, provider),
            secrets=secrets_in(os.environ),
        )

    def sharing_containers(self) -> "RunResources":
        """The resources of parallel attempts; a single one leaves processors for containers."""
        if not isinstance(self.provider, EngineProvider):
            return self
        return replace(self, provider=self.provider.sharing_containers(self.background))

    def image_of(self, task: Task) -> ImageId:
        """The image of a task; requested once in a run, unless it is built for the task.

        Raises:
            UnavailableError: there is no such image.
        """
        name = task.environment.image
        if task.environment.is_built or task.workdir is not None:
            return resolve_image(task, self.provider)
        found = self.images.get(name)  # another thread may clear them meanwhile
        if found is None:
            found = self.images[name] = resolve_image(task, self.provider)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSlot:
    """The identity of an attempt, and the folder of its files."""

    folder: Path
    run_id: RunId
    attempt: int
    retry_of: int | None = None
    queued_at: float | None = None  # time.monotonic() when it could have started
    status: AttemptStatus | None = None  # None: it is not shown
