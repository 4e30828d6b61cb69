"""The inputs of the stages of one attempt. They are immutable: a stage returns what it makes."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from threading import Event, Semaphore

from agentbench.attempt.hidden_tests import HiddenTests
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.attempt.settings import RunSettings
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.choices import ControlLevel
from agentbench.integrity.control_plan import ControlMemory
from agentbench.sandbox.interface import ImageId, Limits, OutputSink, SandboxProvider
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_CONTROL_RUNS = 2  # at a time, of an attempt that shares no slots with others

SaveArtifact = Callable[[str, bytes], None]
"""Writes a file of an attempt under a name relative to its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageContext:
    """The inputs of every stage."""

    task: Task  # with the name of its image
    image: ImageId
    settings: RunSettings
    provider: SandboxProvider
    mirrors: Mirrors
    hidden_tests: HiddenTests
    cancel: Event
    sink: OutputSink  # the log of the stage
    save: SaveArtifact
    background: BackgroundTasks
    control_slots: Semaphore = field(default_factory=lambda: Semaphore(_CONTROL_RUNS))
    idle_slots: Semaphore = field(default_factory=lambda: Semaphore(_CONTROL_RUNS))
    """For sandboxes of control runs that are idle while agents work."""

    @property
    def limits(self) -> Limits:
        """What the task's sandboxes may use."""
        return limits_of(self.task)

    @property
    def control_level(self) -> ControlLevel:
        """How many control runs there are."""
        return self.settings.integrity_controls or self.task.controls

    def after_setup(self, prepared: PreparedTask, memory: ControlMemory) -> "PreparedContext":
        """The same inputs for the stages after set-up."""
        inputs = {each.name: getattr(self, each.name) for each in fields(StageContext)}
        return PreparedContext(**inputs, prepared=prepared, control_memory=memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedContext(StageContext):
    """The inputs of the stages after set-up."""

    prepared: PreparedTask
    control_memory: ControlMemory = field(default_factory=ControlMemory)


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
