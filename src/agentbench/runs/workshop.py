"""What all attempts of a run share, and the place of each."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event, Semaphore

from agentbench.agents.model_door import ModelGateway
from agentbench.aside import Aside
from agentbench.runs.board import Board, Entry
from agentbench.runs.host import available_cpus
from agentbench.runs.outage import CircuitBreaker
from agentbench.runs.record import RunId
from agentbench.sandbox.interface import ImageId, SandboxProvider
from agentbench.stages.preparation import PreparationCache
from agentbench.stages.shared_preparations import SharedPreparations
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.mirror import Mirrors


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
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
    aside: Aside = field(default_factory=Aside)
    images: dict[str | None, ImageId] = field(default_factory=dict)  # by the names that tasks use
    board: Board = field(default_factory=Board)
    breaker: CircuitBreaker = field(default_factory=lambda: CircuitBreaker(cancel=Event()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one attempt leaves its files, and which attempt it is."""

    folder: Path
    run_id: RunId
    attempt: int
    retry_of: int | None = None
    queued_at: float | None = None  # time.monotonic() when it could have started
    entry: Entry | None = None  # on the board, if somebody looks at it
