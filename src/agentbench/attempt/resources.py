"""What all attempts of a run share, the slot of each.

The live status of those that are under way.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event, Lock, Semaphore

from agentbench.attempt.outages import CircuitBreaker
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.record import RunId
from agentbench.attempt.shared_preparations import SharedPreparations
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.choices import ControlLevel
from agentbench.core.host import available_cpus
from agentbench.models.interface import ModelGateway
from agentbench.sandbox.interface import ImageId, SandboxProvider
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId


@dataclass(slots=True, kw_only=True)
class AttemptStatus:
    """One attempt under way; one thread writes it, others read."""

    task_id: TaskId
    attempt: int
    retry_of: int | None = None
    began: float = 0.0  # by the board's clock, in seconds
    where: str | None = None  # the node that it is on, if it is not on this machine
    stage: StageName | None = None  # None: it waits to begin
    spent_usd: Callable[[], float | None] | None = None  # where it has a model; None: not priced

    def at(self, stage: StageName) -> None:
        """A stage has begun."""
        self.stage = stage


@dataclass(slots=True, kw_only=True)
class LiveStatus:
    """The attempts under way; safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _entries: dict[int, AttemptStatus] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, task_id: TaskId, attempt: int, *, retry_of: int | None = None) -> AttemptStatus:
        """Put an attempt on the board; whoever began it takes it down."""
        entry = AttemptStatus(
            task_id=task_id, attempt=attempt, retry_of=retry_of, began=self.clock()
        )
        with self._lock:
            self._entries[id(entry)] = entry
        return entry

    def end(self, entry: AttemptStatus) -> None:
        """Take an attempt down; once is enough."""
        with self._lock:
            self._entries.pop(id(entry), None)

    @contextmanager
    def entry(
        self, task_id: TaskId, attempt: int, *, retry_of: int | None = None
    ) -> Iterator[AttemptStatus]:
        """An attempt that is on the board for as long as the block lasts."""
        entry = self.begin(task_id, attempt, retry_of=retry_of)
        try:
            yield entry
        finally:
            self.end(entry)

    def under_way(self) -> tuple[AttemptStatus, ...]:
        """The attempts under way, the first that began first."""
        with self._lock:
            return tuple(self._entries.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResources:
    """What all attempts of a run share."""

    provider: SandboxProvider
    mirrors: Mirrors
    cache: PreparationCache
    cancel: Event
    timeout_scale: float = 1.0
    use_cache: bool = True
    shared: SharedPreparations | None = None  # by way of a registry
    gateway: ModelGateway | None = None
    secrets: frozenset[str] = frozenset()  # of this machine, which no log may hold
    control_level: ControlLevel | None = None  # None: the task's own
    control_slots: Semaphore = field(default_factory=lambda: Semaphore(max(2, available_cpus())))
    idle_slots: Semaphore = field(default_factory=lambda: Semaphore(max(2, available_cpus())))
    attempt_timeout: timedelta | None = None  # None: what all its stages may take, and some more
    aside: BackgroundTasks = field(default_factory=BackgroundTasks)
    images: dict[str | None, ImageId] = field(default_factory=dict)  # by the names that tasks use
    board: LiveStatus = field(default_factory=LiveStatus)
    breaker: CircuitBreaker = field(default_factory=lambda: CircuitBreaker(cancel=Event()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSlot:
    """Where one attempt leaves its files, and which attempt it is."""

    folder: Path
    run_id: RunId
    attempt: int
    retry_of: int | None = None
    queued_at: float | None = None  # time.monotonic() when it could have started
    entry: AttemptStatus | None = None  # on the board, if somebody looks at it
