"""One attempt's stages, one at a time, on a real back end."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from threading import Event
from typing import TypeVar, cast
from uuid import uuid4

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.context import (
    AgentRunOutput,
    CloneOutput,
    HiddenTests,
    IncompleteStageError,
    PreparedContext,
    StageContext,
    StageOutput,
)
from agentbench.attempt.judge_by_script import JudgeByScript
from agentbench.attempt.judge_by_tests import JudgeByTests
from agentbench.attempt.preparation_cache import PreparationCache, PreparedTask
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import AttemptSlot
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.stages.agent_run import AgentInputs, agent_run
from agentbench.attempt.stages.baseline_run import baseline_run
from agentbench.attempt.stages.final_test import final_test
from agentbench.attempt.stages.git_checkout import git_checkout
from agentbench.attempt.stages.git_clone import git_clone
from agentbench.attempt.stages.setup import setup
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.files import FileContent
from agentbench.core.host import default_cache_dir
from agentbench.errors import SandboxError, UnavailableError
from agentbench.integrity.control_plan import ControlMemory
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls
from agentbench.integrity.sealing.memory import SealedMemory
from agentbench.sandbox.interface import Sandbox, SandboxProvider, Stream
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import Evidence
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.tasks.test_command import parse_test_command
from agentbench.taxonomy import StageName
from agentbench.test_runs.runner import TestRunner
from agentbench.test_runs.runners import runner_of
from tests.e2e.small_task import HIDDEN, SERIAL, SmallTask


def local_provider() -> SandboxProvider:
    """Bubblewrap, or where it does not work plain processes; its cache is that of the tests."""
    try:
        return select_back_end("bubblewrap", cache_dir=default_cache_dir()).provider
    except (UnavailableError, SandboxError):
        return select_back_end("process", cache_dir=default_cache_dir()).provider


def mirrors() -> Mirrors:
    """Mirrors in the cache of the tests."""
    return Mirrors(default_cache_dir() / "mirrors")


def small_task(folder: Path, **changes) -> Task:
    """The small task with changes, written and loaded."""
    folder.mkdir(parents=True, exist_ok=True)
    return load_task(SmallTask(**changes).write(folder), mirrors=mirrors())


def own_task(folder: Path, **changes) -> Task:
    """The small task with hidden tests of this process.

    A machine judges the attempts at a task in turn. So a test with slow changes needs a task that
    no other process judges meanwhile.
    """
    return small_task(folder, hidden=own_hidden_tests(folder.name), **changes)


def own_hidden_tests(name: str) -> str:
    """The small task's hidden tests, as no other process has them."""
    return f"{HIDDEN}# {name} of {SERIAL}\n"


class Desk:
    """Where an attempt's files end up, and what its stages printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = b""

    def save(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def sink(self, stream: Stream, chunk: bytes) -> None:
        del stream
        self.printed += chunk

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@dataclass(kw_only=True)
class StagedAttempt:
    """An attempt between two stages; a test may change anything of it."""

    task: Task
    agent: Agent
    provider: SandboxProvider
    desk: Desk
    settings: RunSettings
    opened: ExitStack
    store: Callable[[Sandbox], PreparedTask]
    prepared: PreparedTask | None
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    cancel: Event = field(default_factory=Event)
    extend: Callable[[float], None] = lambda _seconds: None
    secrets: frozenset[str] = frozenset()
    control_memory: ControlMemory = field(default_factory=ControlMemory)
    sealed_memory: SealedMemory = field(default_factory=SealedMemory)
    clone: CloneOutput | None = None
    runner: TestRunner | None = None
    baseline: Evidence | None = None
    outcome: AgentOutcome | None = None
    change: JudgedChange | None = None
    controls: Controls | None = None
    controls_seconds: float = 0.0

    def control(self, level: ControlLevel) -> None:
        """Choose how many control runs there are."""
        self.settings = self.settings.replace(integrity_controls=level)

    @property
    def sandbox(self) -> Sandbox:
        """The one of the first three stages."""
        assert self.clone is not None
        return self.clone.sandbox

    @property
    def inputs(self) -> StageContext:
        """What a stage before the agent is given."""
        return StageContext(
            task=self.task,
            image=self.provider.resolve_image(None),
            settings=self.settings,
            provider=self.provider,
            mirrors=mirrors(),
            hidden_tests=HiddenTests(self.task, mirrors()),
            cancel=self.cancel,
            sink=self.desk.sink,
            save=self.desk.save,
            runner=self.runner or runner_of(parse_test_command(self.task.problem.test_command)),
            judge=JudgeByScript() if self.task.answer_key.verifier else JudgeByTests(),
            background=self.background,
            extend=self.extend,
        )

    @property
    def ready(self) -> PreparedContext:
        """What a stage after set-up is given."""
        assert self.prepared is not None
        ready = self.inputs.after_setup(self.prepared, self.control_memory, self.sealed_memory)
        return replace(ready, edited_at=1_000_000_000)  # the same in all stages

    def run(self, stage: StageName) -> Evidence:
        """Run one stage, and keep what it returns."""
        match stage:
            case StageName.GIT_CLONE:
                self.clone = git_clone(self.inputs, self.opened)
                return self.clone.evidence
            case StageName.GIT_CHECKOUT:
                assert self.clone is not None
                return git_checkout(self.inputs, self.clone).evidence
            case StageName.SETUP:
                assert self.clone is not None
                done = setup(self.inputs, self.clone, self.store)
                self.prepared = done.prepared
                return done.evidence
            case StageName.BASELINE_RUN:
                return baseline_run(self.ready).evidence
            case StageName.AGENT_RUN:
                return self._agent_run()
            case StageName.FINAL_TEST:
                return self._final_test()

    def _agent_run(self) -> Evidence:
        slot = AttemptSlot(folder=self.desk.folder, run_id=RunId("staged"), attempt=1)
        given = AgentInputs(agent=self.agent, secrets=self.secrets, slot=slot)
        with ExitStack() as agents_sandbox:
            output, error = complete(lambda: agent_run(self.ready, given, agents_sandbox))
        self.outcome, self.change = output.outcome, output.change
        if error is not None:
            raise error
        return output.evidence

    def _final_test(self) -> Evidence:
        change = self.change or JudgedChange(files={}, emptied=(), dropped=())
        work = AgentRunOutput(change=change)
        output, error = complete(
            lambda: final_test(self.ready, self.baseline or Evidence(), change, work)
        )
        self.controls, self.controls_seconds = output.controls, output.controls_seconds
        if error is not None:
            raise error
        return output.evidence


OutputT = TypeVar("OutputT", bound=StageOutput)


def complete(run: Callable[[], OutputT]) -> tuple[OutputT, BaseException | None]:
    """The output of a stage, and the error that left it incomplete."""
    try:
        return run(), None
    except IncompleteStageError as incomplete:
        return cast("OutputT", incomplete.output), incomplete.__cause__


@contextmanager
def staged(
    task: Task,
    provider: SandboxProvider,
    desk: Desk,
    *,
    agent: Agent | None = None,
    timeout_scale: float = 1.0,
    prepared: PreparedTask | None = None,
) -> Iterator[StagedAttempt]:
    """An attempt before its first stage; what its set-up stores is forgotten at the end."""
    cache = PreparationCache(default_cache_dir() / "prepared", provider)
    key = f"test-{uuid4().hex}"
    with ExitStack() as opened:
        opened.callback(cache.forget, key)
        attempt = StagedAttempt(
            task=task,
            agent=agent or NoopAgent(),
            provider=provider,
            desk=desk,
            settings=RunSettings(timeout_scale=timeout_scale),
            opened=opened,
            store=lambda sandbox: cache.keep(key, sandbox),
            prepared=prepared,
        )
        opened.callback(attempt.background.finish)
        yield attempt


def go(attempt: StagedAttempt, *names: str) -> Evidence:
    """Run some stages in turn; the last one's evidence."""
    evidence = Evidence()
    for name in names:
        evidence = attempt.run(StageName(name))
    return evidence


def prepare(attempt: StagedAttempt) -> Evidence:
    """Run the first three stages."""
    return go(attempt, "git_clone", "git_checkout", "setup")


def final_test_of(
    attempt_by: Callable[..., AbstractContextManager[StagedAttempt]],
    source: str,
    *,
    level: ControlLevel = ControlLevel.FULL,
    **more: object,
) -> tuple[Evidence, StagedAttempt]:
    """The final test of a program, and the attempt that it belonged to."""
    with attempt_by(**more) as context:
        context.control(level)
        context.baseline = go(context, "baseline_run")
        file = FileContent(content=source.encode(), executable=False)
        context.change = JudgedChange(
            files={PurePosixPath("basket.py"): file}, emptied=(), dropped=()
        )
        return go(context, "final_test"), context
