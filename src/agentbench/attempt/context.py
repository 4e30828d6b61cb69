"""What the stages of one attempt share and hand on to each other."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import PurePosixPath
from threading import Event, Semaphore
from typing import TYPE_CHECKING, Protocol

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.choices import ControlLevel
from agentbench.core.files import FileContent
from agentbench.integrity.control_plan import ControlMemory
from agentbench.models.interface import ModelEndpoint, ModelTraffic
from agentbench.sandbox.interface import ImageId, Limits, OutputSink, Sandbox, SandboxProvider
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import Task

if TYPE_CHECKING:  # made by the last two stages alone
    from agentbench.integrity.protection import JudgedChange
    from agentbench.integrity.records import Controls

_CONTROL_RUNS = 2  # at a time, of one attempt alone

SaveArtifact = Callable[[str, bytes], None]
"""Keeps a file of an attempt under a name relative to its folder."""


class ClosesResources(Protocol):
    """Something under way that one stage begins and another one ends."""

    def close(self) -> None:
        """End it, if nobody has."""


@dataclass(slots=True, kw_only=True)
class StageContext:
    """One attempt under way: what it was given, and what its stages have made so far."""

    task: Task
    agent: Agent
    provider: SandboxProvider
    mirrors: Mirrors
    cancel: Event
    timeout_scale: float
    sink: OutputSink  # of the stage that runs now
    save: SaveArtifact
    keep_snapshot: Callable[["StageContext"], PreparedTask]  # set-up hands its sandbox over with it
    open_door: Callable[[], AbstractContextManager[ModelEndpoint]] | None = None  # where a model is
    aside: BackgroundTasks = field(default_factory=BackgroundTasks)
    resources: ExitStack = field(default_factory=ExitStack)
    secrets: frozenset[str] = frozenset()  # of this machine, which no log may hold
    control_level: ControlLevel = ControlLevel.FULL
    control_memory: ControlMemory = field(default_factory=ControlMemory)
    control_slots: Semaphore = field(default_factory=lambda: Semaphore(_CONTROL_RUNS))
    idle_slots: Semaphore = field(default_factory=lambda: Semaphore(_CONTROL_RUNS))
    """For sandboxes of blind runs that lie idle while agents work."""

    image: ImageId | None = None
    mirror: Mirror | None = None
    sandbox: Sandbox | None = None  # the one that git_clone, git_checkout and setup share
    prepared: PreparedTask | None = None
    baseline: Evidence | None = None
    outcome: AgentOutcome | None = None
    model_facts: ModelTraffic | None = None  # what passed through the door
    change: "JudgedChange | None" = None
    hidden: Mapping[PurePosixPath, FileContent | None] | None = None  # the hidden tests as files
    final_ahead: ClosesResources | None = (
        None  # the final test's sandbox, made while the agent works
    )
    controls_ahead: ClosesResources | None = (
        None  # the blind runs' tests, changed while the agent works
    )
    controls: "Controls | None" = None
    controls_seconds: float = 0.0  # that the verdict waited for them

    @property
    def limits(self) -> Limits:
        """What the task's sandboxes may use."""
        return limits_of(self.task)

    def drop_what_is_ahead(self) -> None:
        """End what was begun for stages that do not come any more."""
        for ahead in (self.controls_ahead, self.final_ahead):
            if ahead is not None:
                ahead.close()
        self.controls_ahead = self.final_ahead = None

    def scaled(self, seconds: float) -> timedelta:
        """A time limit of the task, scaled by `--timeout-scale`."""
        return timedelta(seconds=seconds * self.timeout_scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One row of the pipeline."""

    name: StageName
    run: Callable[[StageContext], Evidence]
    timeout: Callable[[StageContext], timedelta]


def limits_of(task: Task) -> Limits:
    """What a task's sandboxes may use."""
    environment = task.environment
    return Limits(
        cpus=environment.cpus,
        memory_mib=environment.memory_mib,
        pids=environment.pids,
        disk_mib=environment.disk_mib,
        files=environment.files,
    )
