"""One attempt, from its task to its record. Read it from top to bottom.

    git_clone, git_checkout, setup   or the stored preparation: a snapshot
    baseline_run                     or its stored evidence: the tests have to show the bug
    agent_run                        the agent's change, its artifacts, its sandbox
    final_test                       the evidence that judges the change
    record                           the verdict on the evidence of all stages

Each call takes what the calls before it have returned. `Attempt.stage` turns an exception of a
stage into its evidence; no exception of a stage leaves this page.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

from agentbench.agents.interface import Agent
from agentbench.attempt.context import (
    AgentRunOutput,
    AttemptOutputs,
    FinalTestOutput,
    IncompleteStageError,
    PreparedContext,
    StageOutput,
)
from agentbench.attempt.deadline import AttemptDeadline
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.judge_timeline import judge_timeline
from agentbench.attempt.logs import AttemptFiles, write_trajectory
from agentbench.attempt.outages import storage_errors
from agentbench.attempt.preparation import Preparation
from agentbench.attempt.preparation_cache import (
    PreparedTask,
    StoredBaseline,
    baseline_to_store,
    closing_sandboxes,
)
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.recording import AttemptTimes, make_record, shortened
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import attempt_time_limit, stage_timeout
from agentbench.attempt.stages.agent_run import AgentInputs, agent_run
from agentbench.attempt.stages.baseline_run import baseline_run
from agentbench.attempt.stages.final_test import final_test
from agentbench.attempt.stages.git_checkout import git_checkout
from agentbench.attempt.stages.git_clone import git_clone
from agentbench.attempt.stages.setup import setup
from agentbench.attempt.timeline.document import TIMELINE_FILE, Timeline, stored_timeline
from agentbench.attempt.timeline.recorder import TimelineRecorder
from agentbench.attempt.timeline.states import TIMELINE_ARCHIVE, NotedStates
from agentbench.core.files import FileContent, write_atomically
from agentbench.errors import (
    AttemptTimeoutError,
    GitCloneError,
    RunCancelled,
    SandboxError,
    StorageError,
    UnavailableError,
)
from agentbench.sandbox.interface import OutputSink, Stream
from agentbench.scoring.classification import Failure, classify, exception_fact
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.verdict import baseline_failure
from agentbench.tasks.task import Task
from agentbench.taxonomy import AGENT_STAGES, Fault, StageName

# The errors before the first stage that it records, since only stages have evidence.
_BEFORE_FIRST_STAGE = (UnavailableError, SandboxError, GitCloneError, OSError, RunCancelled)
OutputT = TypeVar("OutputT", bound=StageOutput)


def run_attempt(
    task: Task,
    agent: Agent,
    resources: RunResources,
    slot: AttemptSlot,
    store: Callable[[AttemptRecord], None] = lambda _record: None,
) -> AttemptRecord:
    """Make one attempt at a task. Its record, and not an exception, says how it ended.

    Args:
        task: The task.
        agent: The agent.
        resources: What all attempts of the run share.
        slot: The place of this attempt in the run.
        store: Stores the record, before the timeline of the agent's work is judged.

    Raises:
        StorageError: the disk has no space for its files.
    """
    attempt = Attempt(task, resources, slot)
    attempt.files.registered()
    with attempt.reproduced_bug() as state:
        if not isinstance(state, ReproducedBug):
            record = attempt.record(agent, state)
            store(record)
            return record
        with attempt.timeline_recorder(state.ready.prepared) as recorder:
            inputs = AgentInputs(
                agent=agent,
                secrets=resources.secrets,
                gateway=resources.gateway,
                slot=slot,
                recorder=recorder,
            )
            # Made here and not by a stage: a script may judge in the agent's own sandbox.
            # A sandbox that cannot be removed must not cost the record of what was judged in it.
            with closing_sandboxes() as agents_sandbox:
                work = attempt.run(
                    StageName.AGENT_RUN,
                    lambda sink: agent_run(
                        replace(state.ready, sink=sink, stage=StageName.AGENT_RUN),
                        inputs,
                        agents_sandbox,
                    ),
                )
                if work is None or work.sandbox is None:  # nothing in it is judged any more
                    resources.background.remove(agents_sandbox.pop_all().close)
                final = attempt.judged(state, work)
            outputs = replace(state.outputs, agent_run=work, final_test=final)
        record = attempt.record(agent, outputs)
        store(record)
        # After the verdict, on which it has no influence.
        if recorder is not None:
            attempt.judge_timeline(state, slot.folder)
        return record


def finish_timeline(task: Task, resources: RunResources, folder: Path) -> bool:
    """Judge the states of an attempt's work whose judging was interrupted.

    Args:
        task: The task of the attempt.
        resources: What the attempts of its run share.
        folder: The folder of the attempt.

    Returns:
        Whether it was possible: the task could be prepared.

    Raises:
        StorageError: the disk has no space.
    """
    # What it takes to prepare the task again must not replace the logs of the attempt.
    with TemporaryDirectory(prefix="agentbench-") as scratch:
        slot = AttemptSlot(folder=Path(scratch), run_id=RunId("timeline"), attempt=1)
        attempt = Attempt(task, resources, slot)
        with attempt.reproduced_bug() as state:
            if isinstance(state, ReproducedBug):
                attempt.judge_timeline(state, folder)
                return True
    return False


@dataclass(frozen=True, kw_only=True)
class ReproducedBug:
    """A prepared task whose baseline run shows the bug, so that an agent may work on it."""

    ready: PreparedContext
    baseline: Evidence
    outputs: AttemptOutputs


@dataclass(kw_only=True)
class RunningStage:
    """A stage that is running: the sink of its log, and its output once it has one."""

    sink: OutputSink
    output: StageOutput | None = None


class Attempt:
    """The stages of one attempt so far, and the steps around the agent's work."""

    def __init__(self, task: Task, resources: RunResources, slot: AttemptSlot) -> None:
        """An attempt whose time begins now."""
        self._task = task
        self._resources = resources
        self._slot = slot
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        self._deadline = AttemptDeadline(
            resources.cancel, attempt_time_limit(task, resources.settings)
        )
        self.files = AttemptFiles(slot.folder, resources.breaker)
        self.results: list[StageResult] = []

    @contextmanager
    def stage(self, name: StageName) -> Iterator[RunningStage]:
        """Run one stage in the block, which gives it an output. Its result is added at the end.

        This is the one place where an exception becomes evidence: a lost sandbox, a cancelled run,
        or a bug of agentbench. The block ends, and what follows it goes on.

        Raises:
            StorageError: the disk has no space for this stage's evidence, or for any other.
        """
        self.files.started(name)
        if (status := self._slot.status) is not None:
            status.log = self.files.log_path(name)
            status.limit = stage_timeout(name, self._task, self._resources.settings)
            status.stage_began = self._resources.live_status.clock()
            status.stage = name
        started_at, started = datetime.now(UTC), time.monotonic()
        error: BaseException | None = None
        with self.files.open_log(name) as log:
            running = RunningStage(sink=log.write)
            try:
                yield running
            except StorageError:
                raise
            except IncompleteStageError as incomplete:
                running.output = replace(incomplete.output, is_incomplete=True)
                error = incomplete.__cause__ or incomplete
            # An error in one attempt must not lose the others (decision 4).
            except (Exception, RunCancelled) as raised:  # noqa: BLE001 - becomes evidence
                error = raised
            evidence = running.output.evidence if running.output is not None else Evidence()
            if error is not None:
                error = self._cause(name, error)
                evidence = Evidence(
                    exception=exception_fact(name, error), own_seconds=evidence.own_seconds
                )
                said = f"{type(error).__name__}: {error}\n"
                log.write(Stream.STDERR, said.encode("utf-8", "backslashreplace"))
                # Ask for images again: one may have been removed or built again.
                self._resources.images.clear()
        self._add(
            StageResult(
                stage=name,
                evidence=shortened(evidence),
                started_at=started_at,
                duration=timedelta(seconds=time.monotonic() - started),
            )
        )

    def require_time(self) -> None:
        """Check that the attempt may go on.

        Raises:
            RunCancelled: its time is over, or the run was cancelled.
        """
        if self._deadline.is_set():
            raise RunCancelled

    # The error, or the end of the attempt's time if that cancelled the stage.
    def _cause(self, stage: StageName, error: BaseException) -> BaseException:
        if not isinstance(error, RunCancelled) or not self._deadline.is_late:
            return error
        # Not an infrastructure failure, since an agent's files may be slow to read and to run.
        fault = Fault.AGENT if stage in AGENT_STAGES else Fault.INFRASTRUCTURE
        seconds = self._deadline.limit.total_seconds()
        return AttemptTimeoutError(
            f"the whole attempt was still running after {seconds:.0f} s", fault=fault
        )

    def _add(self, result: StageResult) -> None:
        self.results.append(result)
        self.files.ended(result)

    def run(self, stage: StageName, work: Callable[[OutputSink], OutputT]) -> OutputT | None:
        """Run one stage by a function that gets the log's sink; its output, if it has one."""
        with self.stage(stage) as running:
            self.require_time()
            running.output = work(running.sink)
        return cast("OutputT | None", running.output)  # an incomplete one has the same type

    def run_to_success(
        self, stage: StageName, work: Callable[[OutputSink], OutputT]
    ) -> OutputT | None:
        output = self.run(stage, work)
        return output if self.last_failure() is None else None

    def last_failure(self) -> Failure | None:
        last = self.results[-1]
        return classify(last.stage, last.evidence)

    @contextmanager
    def prepared(self) -> Iterator[PreparedContext | AttemptOutputs]:
        """The inputs of the stages after set-up, or the outputs of an attempt that ends before."""
        try:
            with self._deadline.paused():  # the work serves other attempts, too
                preparation = Preparation.of(
                    self._task, self._resources, self.files, self._deadline
                )
        except _BEFORE_FIRST_STAGE:
            with self.stage(StageName.GIT_CLONE):
                raise
            yield AttemptOutputs(task=self._task)
            return
        with preparation.removed_if_not_cached():
            state, inputs = self._prepared(preparation), preparation.inputs
            if state is None:
                yield AttemptOutputs(task=inputs.task, image=inputs.image)
            else:
                yield preparation.after_setup(state)

    def _prepared(self, preparation: Preparation) -> PreparedTask | None:
        """Clone, check out and set up, or take the stored state; None if a stage failed."""
        with ExitStack() as lock, closing_sandboxes() as opened:
            stored, inputs = None, preparation.inputs
            # The first stage meets the same error, which is recorded.
            with self._deadline.paused(), suppress(*_BEFORE_FIRST_STAGE):
                lock.enter_context(preparation.locked())
                stored = preparation.stored()
                if stored is None:
                    inputs = preparation.first_inputs()
            if stored is not None:
                prepared, results = stored
                self.results.extend(results)
                return prepared
            clone = self.run_to_success(
                StageName.GIT_CLONE, lambda sink: git_clone(replace(inputs, sink=sink), opened)
            )
            if clone is None:
                return None
            checked_out = self.run_to_success(
                StageName.GIT_CHECKOUT, lambda sink: git_checkout(replace(inputs, sink=sink), clone)
            )
            if checked_out is None:
                return None
            keep, key = self._resources.cache.keep, preparation.key
            done = self.run_to_success(
                StageName.SETUP,
                lambda sink: setup(
                    replace(inputs, sink=sink), clone, lambda sandbox: keep(key, sandbox)
                ),
            )
            if done is None or done.prepared is None:
                return None
            preparation.store(done.prepared, tuple(self.results))
            self._resources.background.remove(opened.pop_all().close)
            return done.prepared

    @contextmanager
    def reproduced_bug(self) -> Iterator[ReproducedBug | AttemptOutputs]:
        """The state before the agent's work, or the outputs of an attempt that ends before it."""
        with self.prepared() as ready:
            if not isinstance(ready, PreparedContext):
                yield ready
                return
            key, cache = ready.baseline_key, self._resources.cache
            # Other attempts at the task share it as long as one of them has it.
            stored = cache.load_baseline(key) if key is not None else None
            baseline = self._baseline(ready, stored)
            outputs = AttemptOutputs(task=ready.task, image=ready.image, prepared=ready.prepared)
            if baseline is None:
                yield outputs
            else:
                yield ReproducedBug(ready=ready, baseline=baseline, outputs=outputs)

    def _baseline(self, ready: PreparedContext, stored: StoredBaseline | None) -> Evidence | None:
        """The evidence of the baseline run; None if it shows a fault of the task."""
        if stored is not None:
            self._add(stored.result)
            if stored.report:  # a script leaves none
                self.files.save("baseline.json", stored.report)
        else:
            stage = StageName.BASELINE_RUN
            self.run(stage, lambda sink: baseline_run(replace(ready, sink=sink, stage=stage)))
        result = self.results[-1]
        if baseline_failure(expected_tests(ready.task), result.evidence) is not None:
            return None
        if stored is None and ready.baseline_key is not None:
            baseline = baseline_to_store(result, self._task, self._slot.folder)
            if baseline is not None:
                self._resources.cache.keep_baseline(ready.baseline_key, baseline)
        return result.evidence

    def judged(self, state: ReproducedBug, work: AgentRunOutput | None) -> FinalTestOutput | None:
        """Judge an agent's work; None if there is no change to judge, or the stage failed."""
        if work is None or work.change is None or (work.steps and work.is_incomplete):
            return None  # with steps, the change may be from a step before the error
        stage, change = StageName.FINAL_TEST, work.change
        return self.run(
            stage,
            lambda sink: final_test(
                replace(state.ready, stage=stage, sink=sink), state.baseline, change, work
            ),
        )

    @contextmanager
    def timeline_recorder(self, prepared: PreparedTask) -> Iterator[TimelineRecorder | None]:
        """Notes the states of the agent's work, if the run or the task asks for it."""
        settings, limits = self._resources.settings, self._task.problem.limits
        is_judged_by_script = self._task.answer_key.verifier is not None
        if is_judged_by_script or not (settings.timeline or limits.timeline):
            yield None
            return

        def base(path: PurePosixPath) -> FileContent | None:
            content, entry = prepared.content(path), prepared.base.get(path)
            if content is None or entry is None:
                return None
            return FileContent(content=content, executable=entry.executable)

        with closing(TimelineRecorder(self._slot.folder / TIMELINE_ARCHIVE, base)) as recorder:
            yield recorder

    def judge_timeline(self, state: ReproducedBug, folder: Path) -> None:
        """Judge the states noted in an attempt's folder, and store the timeline there.

        If the run is interrupted, `finish_timeline` goes on with it.
        """

        def store(timeline: Timeline) -> None:
            with storage_errors(folder):
                page = timeline.model_dump_json(indent=1).encode()
                write_atomically(folder / TIMELINE_FILE, page)

        earlier = stored_timeline(folder)
        with suppress(RunCancelled), self._deadline.paused(), NotedStates.open(folder) as noted:
            if noted is None:
                return
            for timeline in judge_timeline(
                state.ready,
                state.baseline,
                self.results,
                noted,
                most=self._resources.settings.timeline_judgements,
                known=earlier.judged if earlier is not None else (),
            ):
                self._resources.breaker.written(partial(store, timeline))

    def record(self, agent: Agent, outputs: AttemptOutputs) -> AttemptRecord:
        """The record of the attempt, with its verdict; also writes its trajectory.

        Raises:
            StorageError: the disk has no space for its files.
        """
        slot, resources = self._slot, self._resources
        times = AttemptTimes(
            started_at=self._started_at,
            total=timedelta(seconds=time.monotonic() - self._started),
            queue_wait=timedelta(seconds=self._started - (slot.queued_at or self._started)),
        )
        record = make_record(
            agent=agent,
            resources=resources,
            slot=slot,
            times=times,
            outputs=replace(outputs, results=tuple(self.results)),
        )
        self.files.judged(record)
        gateway, work = resources.gateway, outputs.agent_run
        if gateway is not None and work is not None and work.traffic is not None:
            write_trajectory(
                slot.folder,
                agent=agent,
                model=gateway.model,
                session=f"{slot.run_id}/{self._task.id}/{slot.attempt}",
                facts=work.traffic,
            )
        return record
