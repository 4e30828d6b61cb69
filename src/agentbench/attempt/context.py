"""The inputs and the outputs of the stages of one attempt. Both are immutable."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import PurePosixPath
from threading import Event
from typing import Protocol

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.preparation_cache import PreparedTask, judging_key
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.task_image import services_of
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.file_locks import FileLock, machine_lock
from agentbench.core.files import FileContent
from agentbench.errors import GitCheckoutError
from agentbench.integrity.control_plan import ControlMemory
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls
from agentbench.integrity.sealing.memory import SealedMemory
from agentbench.models.interface import ModelTraffic
from agentbench.sandbox.interface import (
    ImageId,
    Limits,
    OutputSink,
    Sandbox,
    SandboxProvider,
    SandboxUse,
    Services,
    SnapshotId,
)
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.steps import StepEvidence
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName
from agentbench.test_runs.runner import TestRunner

SaveArtifact = Callable[[str, bytes], None]
"""Writes a file of an attempt under a name relative to its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutput:
    """The output of a stage that passes nothing else to later stages."""

    evidence: Evidence = field(default_factory=Evidence)
    is_incomplete: bool = False  # an error ended the stage after a part of its work


class IncompleteStageError(Exception):
    """The cause ended a stage after a part of its work, which is recorded, too."""

    def __init__(self, output: StageOutput) -> None:
        """The part of the work; the page of the attempt makes evidence of the cause."""
        super().__init__()
        self.output = output


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneOutput(StageOutput):
    """The sandbox of git_clone, in which git_checkout and setup continue."""

    sandbox: Sandbox
    mirror: Mirror | None  # None: the task has no repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOutput(StageOutput):
    """The state after the task's set-up."""

    prepared: PreparedTask | None  # None: a command failed


Artifacts = Mapping[PurePosixPath, Mapping[PurePosixPath, FileContent]]
"""Files outside the workspace, by folder and then by their relative path in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunOutput(StageOutput):
    """The agent's work; a field is None if the stage ended before it was known."""

    outcome: AgentOutcome | None = None  # None also if the agent raised an exception
    traffic: ModelTraffic | None = None  # None also if the attempt has no model
    change: JudgedChange | None = None
    sandbox: Sandbox | None = None  # if the task's script judges in it
    artifacts: Artifacts = field(default_factory=dict)  # for a verifier with its own environment
    steps: tuple[StepEvidence, ...] = ()  # the steps that were run


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalTestOutput(StageOutput):
    """The results of the control runs and of a task's steps."""

    controls: Controls
    controls_seconds: float = 0.0  # how long the verdict waited for them
    steps: tuple[StepEvidence, ...] = ()  # the steps that were run, with the last one judged


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutputs:
    """The outputs and results of one attempt's stages; None for a stage that was not reached."""

    task: Task  # with the name of its image, as far as that is known
    results: tuple[StageResult, ...] = ()
    image: ImageId | None = None
    prepared: PreparedTask | None = None
    agent_run: AgentRunOutput | None = None
    final_test: FinalTestOutput | None = None


class HiddenTests:
    """The hidden tests of one task; the patch is applied once, when they are first needed."""

    def __init__(self, task: Task, mirrors: Mirrors) -> None:
        self._task = task
        self._mirrors = mirrors

    @cached_property
    def files(self) -> Mapping[PurePosixPath, FileContent | None]:
        """The files that `tests.patch` writes to the base commit, or removes from it.

        Raises:
            GitCheckoutError: it does not apply; git_checkout has not checked this patch if the
                preparation came from the cache.
            GitCloneError: the origin cannot be mirrored.
        """
        task = self._task
        if task.source.workdir is not None:
            return {}  # there is no commit to apply a patch to
        try:
            mirror = self._mirrors.of(task.source)
            return apply_patch_to_commit(task.answer_key.tests_patch, mirror)
        except PatchDoesNotApplyError as error:
            where = task.folder / "tests.patch"
            raise GitCheckoutError(f"{where}: {error}") from None

    def check(self) -> None:
        """Apply the patch now, so that its errors appear before any costly work."""
        _ = self.files


class Judge(Protocol):
    """A way to judge. It produces the evidence on which the verdict rests."""

    def baseline(self, context: "PreparedContext") -> Evidence:
        """The evidence before any change, which has to show the bug."""

    def final(
        self,
        context: "PreparedContext",
        baseline: Evidence,
        change: JudgedChange,
        work: AgentRunOutput,
        /,
    ) -> FinalTestOutput:
        """The evidence after the agent's change.

        Args:
            context: The inputs.
            baseline: The evidence of the baseline run.
            change: The judged part of the agent's change.
            work: The agent's work, for a script that judges in the agent's sandbox.
        """


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
    runner: TestRunner
    judge: Judge  # by the task's tests, or by a script of the task
    background: BackgroundTasks
    stage: StageName = StageName.SETUP  # in names of logs; git_clone starts the services of set-up
    shared_setup: SnapshotId | None = None
    """The state after the shared commands of set-up; None: set-up runs them."""
    extend: Callable[[float], None] = lambda _seconds: None
    """Adds seconds to the attempt's time limit while it waits for another attempt."""

    @property
    def limits(self) -> Limits:
        return limits_of(self.task)

    @property
    def services(self) -> Services | None:
        found = services_of(self.task)
        return None if found is None else replace(found, main_image=self.image)

    @property
    def use(self) -> SandboxUse:
        """The use of the sandboxes in which agents, and scripts that judge, run."""
        environment, verifier = self.task.environment, self.task.answer_key.verifier
        is_shared = verifier is not None and verifier.is_shared
        lasting = environment.lasting or is_shared or bool(self.task.steps)
        return SandboxUse(lasting=lasting, env=environment.env if lasting else {})

    @property
    def control_level(self) -> ControlLevel:
        return self.settings.integrity_controls or self.task.controls

    def after_setup(
        self,
        prepared: PreparedTask,
        memory: ControlMemory,
        sealed: SealedMemory,
        baseline_key: str | None = None,
    ) -> "PreparedContext":
        inputs = {one.name: getattr(self, one.name) for one in fields(StageContext)}
        return PreparedContext(
            **inputs,
            prepared=prepared,
            control_memory=memory,
            sealed_memory=sealed,
            baseline_key=baseline_key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedContext(StageContext):
    """The inputs of the stages after set-up."""

    prepared: PreparedTask
    control_memory: ControlMemory = field(default_factory=ControlMemory)
    sealed_memory: SealedMemory = field(default_factory=SealedMemory)
    baseline_key: str | None = None  # of a stored baseline run; None: none is stored
    edited_at: float = field(default_factory=time.time)
    """When judged files were modified, in seconds since 1970: after set-up, so that make and
    setuptools build from them again, and equal in control runs and the final test."""

    def judging_lock(self, *, shared: bool = False) -> FileLock:
        """The lock of the task on this machine, held while code of an agent is judged.

        Sandboxes that run at the same time could talk through the kernel. Sealed runs share the
        lock, since their tests do not have the right values. The final test of code that has given
        all of them shares it, too. Every other run holds it alone: its tests have right values that
        the code may not have computed, or wrong ones that it must not recognise as wrong.
        """
        return machine_lock(f"judging-{judging_key(self.task)}", shared=shared)

    def sealed_lock(self) -> FileLock:
        """A lock that is held while the reference solution runs for the first time."""
        return machine_lock(f"sealed-{judging_key(self.task)}")


def limits_of(task: Task) -> Limits:
    """The limits of a task's sandboxes."""
    environment = task.environment
    return Limits(
        cpus=environment.cpus,
        memory_mib=environment.memory_mib,
        pids=environment.pids,
        disk_mib=environment.disk_mib,
        files=environment.files,
        user=environment.user,
        runtime=environment.runtime,
    )
