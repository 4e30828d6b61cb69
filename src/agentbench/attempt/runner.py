"""Runs one attempt.

It walks the pipeline once, takes cached preparations, judges the result and makes the record.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from agentbench.agents.interface import Agent
from agentbench.attempt.context import Stage, StageContext
from agentbench.attempt.logs import EXCHANGE_LOG, EventLog, StageLog, write_trajectory
from agentbench.attempt.outages import storage_errors
from agentbench.attempt.pipeline import PIPELINE, PREPARATION, AttemptDeadline
from agentbench.attempt.preparation_cache import (
    UNCACHED_PREFIX,
    PreparedTask,
    StoredBaseline,
    baseline_key,
    closing_sandboxes,
    log_cache_failure,
    log_removal_failure,
)
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.recording import AttemptIdentity, make_record
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.stages.judged_tests import expected_tests
from agentbench.attempt.task_image import with_image
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.errors import (
    AttemptTimeoutError,
    GitCloneError,
    RunCancelled,
    SandboxError,
    StorageError,
    UnavailableError,
)
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import ImageId, SandboxProvider, Stream
from agentbench.scoring.classification import Failure, classify, exception_fact
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.taxonomy import FailureReason, Fault, StageName
from agentbench.scoring.verdict import baseline_failure, judge
from agentbench.tasks.task import Task

_LOCK_POLL = 0.2  # seconds
_OWN_SECONDS = 900.0  # that we may take beside the stages' own commands
_AGENTS_OWN = frozenset({StageName.AGENT_RUN, StageName.FINAL_TEST})
_JUDGED = frozenset({StageName.BASELINE_RUN, StageName.FINAL_TEST})
_KEPT_OUTPUT = 4_096  # characters of each stream of a deciding command; the log has the rest


def run_pipeline(
    task: Task, agent: Agent, workshop: RunResources, place: AttemptSlot
) -> AttemptRecord:
    """Run one attempt to its verdict. How it ends is in the record, not an exception.

    Raises:
        StorageError: there is no room for what it leaves.
    """
    started_at, started = datetime.now(UTC), time.monotonic()
    walker = _AttemptRunner(task, agent, workshop, place)
    results = walker.walk()
    verdict = judge(expected_tests(task), results)
    walker.note.judged(verdict)
    facts = walker.context.model_facts
    if facts is not None and workshop.gateway is not None:
        write_trajectory(
            place.folder,
            agent=agent,
            model=workshop.gateway.model,
            session=f"{place.run_id}/{task.id}/{place.attempt}",
            facts=facts,
        )
    identity = AttemptIdentity(
        run_id=place.run_id,
        attempt=place.attempt,
        retry_of=place.retry_of,
        agent=agent.name,
        model=workshop.gateway.model if workshop.gateway else None,
        started_at=started_at,
        total=timedelta(seconds=time.monotonic() - started),
        queue_wait=timedelta(seconds=started - (place.queued_at or started)),
    )
    return make_record(
        identity=identity,
        context=walker.context,
        results=results,
        verdict=verdict,
        folder=place.folder,
    )


def prepare_task(task: Task, agent: Agent, workshop: RunResources, folder: Path) -> PreparedTask:
    """Make the state that attempts at a task start from, or find it in the cache.

    Args:
        task: The task; its hidden tests stay out of the state.
        agent: Stands in the context, and is not asked.
        workshop: With a cache in use, or nothing would be kept.
        folder: For the logs of the stages.

    Raises:
        UnavailableError: a stage failed; says which, and why.
        RunCancelled: the run was cancelled.
    """
    walker = _AttemptRunner(
        task, agent, workshop, AttemptSlot(folder=folder, run_id=RunId("prepare"), attempt=1)
    )
    ready = walker.prepare()
    prepared = walker.context.prepared
    if not ready or prepared is None:
        failure = walker.last_failure()
        if failure is not None and failure.reason is FailureReason.INTERRUPTED:
            raise RunCancelled
        why = "it did not end" if failure is None else f"{failure.reason}: {failure.detail}"
        raise UnavailableError(f"{task.id} cannot be prepared: {why}")
    return prepared


class _AttemptRunner:
    """Goes through the pipeline; knows what may be taken from the cache."""

    def __init__(
        self, task: Task, agent: Agent, workshop: RunResources, place: AttemptSlot
    ) -> None:
        self._task = task
        self._workshop = workshop
        self._place = place
        self._key: str | None = None
        self._results: list[StageResult] = []
        self._cutoff = AttemptDeadline(workshop.cancel)
        self.note = EventLog(place.folder, written=workshop.breaker.written)
        self.context = StageContext(
            task=task,
            agent=agent,
            open_door=self._open_door if workshop.gateway else None,
            provider=workshop.provider,
            mirrors=workshop.mirrors,
            cancel=self._cutoff,
            timeout_scale=workshop.timeout_scale,
            sink=_discard_output,
            save=self._save,
            keep_snapshot=self._keep_snapshot,
            secrets=workshop.secrets,
            control_level=workshop.control_level or task.controls,
            control_slots=workshop.control_slots,
            idle_slots=workshop.idle_slots,
            aside=workshop.aside,
        )

    def walk(self) -> tuple[StageResult, ...]:
        """Every stage until one ends the attempt."""
        judging = [stage for stage in PIPELINE if stage.name not in PREPARATION]
        self.note.registered()
        try:
            if self.prepare():
                self._recall_controls()
                all(self._take(stage) for stage in judging)
        finally:
            self.context.drop_what_is_ahead()
            self._forget_preparation()
        return tuple(self._results)

    def prepare(self) -> bool:
        """The stages before any agent, or what was kept of them; false when one fails."""
        preparing = [stage for stage in PIPELINE if stage.name in PREPARATION]
        with self._prepared(), closing_sandboxes() as resources:
            limit = self._workshop.attempt_timeout or usual_time_limit(self.context)
            self._cutoff.begin(limit)  # not while others prepare the task
            self.context.resources = resources
            ready = all(self._take(stage) for stage in preparing)
            if ready:
                self._complete_preparation()
                self._workshop.aside.remove(resources.pop_all().close)  # nobody waits for it
        return ready

    def last_failure(self) -> Failure | None:
        """Why the last stage ended the attempt."""
        last = self._results[-1]
        return classify(last.stage, last.evidence)

    def _take(self, stage: Stage) -> bool:
        """Run one stage, or take it from the cache; false when the attempt ends with it."""
        if any(result.stage is stage.name for result in self._results):
            return True
        cached = self._cached_baseline() if stage.name is StageName.BASELINE_RUN else None
        result = cached if cached is not None else self._run(stage)
        self._results.append(result)
        self.note.ended(result)
        if stage.name is StageName.BASELINE_RUN:
            self.context.baseline = result.evidence
            failed = baseline_failure(expected_tests(self._task), result.evidence) is not None
            if not failed and cached is None and not result.evidence.warnings:
                self._keep_baseline(result)
            return not failed
        if stage.name is StageName.AGENT_RUN:
            return self.context.change is not None
        return classify(stage.name, result.evidence) is None

    def _run(self, stage: Stage) -> StageResult:
        started_at, started = datetime.now(UTC), time.monotonic()
        self.note.started(stage.name)
        if self._place.entry is not None:
            self._place.entry.at(stage.name)
        with self._opened_log(stage.name) as log:
            self.context.sink = log.write
            try:
                if self._cutoff.is_set():
                    raise RunCancelled  # noqa: TRY301 - the same way as from a sandbox
                self._resolve_image()
                evidence = stage.run(self.context)
            except StorageError:
                raise  # there is no place for this evidence, or for any other
            except (Exception, RunCancelled) as error:  # noqa: BLE001 - see below
                # The one place where an exception becomes a reason: a lost sandbox, our own
                # Ctrl-C, or a fault of ours. Every one is kept as evidence of its stage.
                cause = self._cause(stage.name, error)
                evidence = Evidence(exception=exception_fact(stage.name, cause))
                self._workshop.images.clear()  # one may be gone, or made anew
                log.write(Stream.STDERR, f"{type(cause).__name__}: {cause}\n".encode())
        return StageResult(
            stage=stage.name,
            evidence=_compact(evidence),
            started_at=started_at,
            duration=timedelta(seconds=time.monotonic() - started),
        )

    def _opened_log(self, stage: StageName) -> StageLog:
        path = self._place.folder / "stages" / f"{stage}.log"

        def opened() -> StageLog:
            with storage_errors(self._place.folder):
                return StageLog(path)

        return self._workshop.breaker.written(opened)

    def _cause(self, stage: StageName, error: BaseException) -> BaseException:
        """What cut a stage off, where it was not Ctrl-C but the end of the attempt's time."""
        limit = self._cutoff.limit
        if not isinstance(error, RunCancelled) or limit is None or not self._cutoff.is_late:
            return error
        # What an agent left may be slow to read and to run: never an infrastructure failure.
        fault = Fault.AGENT if stage in _AGENTS_OWN else Fault.INFRASTRUCTURE
        return AttemptTimeoutError(
            f"the attempt as a whole was still under way after {limit.total_seconds():.0f} s",
            fault=fault.value,
        )

    def _resolve_image(self) -> None:
        if self.context.image is None:
            workshop = self._workshop
            self.context.task = with_image(self._task, workshop.provider, workshop.mirrors)
            self.context.image = _image_of(self.context.task, workshop)

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        """Hold the preparation's lock; whoever comes second finds it made."""
        with ExitStack() as held:
            # git_clone will meet what goes wrong here as well, and record it.
            with suppress(UnavailableError, SandboxError, GitCloneError, OSError):
                try:
                    self._recall_preparation(held)
                except RunCancelled:
                    if not self._cutoff.is_set():
                        raise
            yield

    def _recall_preparation(self, held: ExitStack) -> None:
        self._resolve_image()
        image, cache = self.context.image, self._workshop.cache
        assert image is not None
        if not self._workshop.use_cache:
            self._key = f"{UNCACHED_PREFIX}{uuid4().hex}"
            return
        self._key = cache.key(self._task, image)
        held.enter_context(self._locked(self._key))
        found, shared = cache.load(self._key), self._workshop.shared
        if found is None and shared is not None:
            found = shared.fetch(self._key, self._task, image)
        if found is not None:
            self.context.prepared, results = found
            self._results.extend(results)

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        lock = FileLock(self._workshop.cache.lock_path(key))
        while not self._cutoff.is_set():
            try:
                lock.acquire(timeout=_LOCK_POLL)
                break
            except LockHeldError:
                continue
        try:
            yield
        finally:
            lock.release()

    def _keep_snapshot(self, context: StageContext) -> PreparedTask:
        assert context.sandbox is not None
        assert self._key is not None  # git_clone needs the image that it is made of
        return self._workshop.cache.keep(self._key, context.sandbox)

    def _forget_preparation(self) -> None:
        if not self._workshop.use_cache and self._key is not None:
            with log_removal_failure():
                self._workshop.cache.forget(self._key)

    def _complete_preparation(self) -> None:
        fresh = [result for result in self._results if not result.cached]
        if self._workshop.use_cache and self._key is not None and len(fresh) == len(PREPARATION):
            with log_cache_failure():
                self._workshop.cache.keep_results(self._key, fresh)
                self._share(fresh)

    def _share(self, results: Sequence[StageResult]) -> None:
        shared, prepared, image = self._workshop.shared, self.context.prepared, self.context.image
        if shared is not None and prepared is not None and image is not None:
            self._workshop.aside.begin(
                lambda: shared.offer(prepared.snapshot, self._task, image, results)
            )

    @contextmanager
    def _open_door(self) -> Iterator[ModelEndpoint]:
        gateway, place = self._workshop.gateway, self._place
        assert gateway is not None
        with gateway.admit(
            budget_usd=self._task.problem.limits.max_cost_usd,
            log=place.folder / EXCHANGE_LOG,
            lane=f"{self._task.id}/{place.attempt}",
        ) as door:
            if place.entry is not None:
                place.entry.spent_usd = lambda: door.facts().usage.cost_usd
            yield door

    def _recall_controls(self) -> None:
        if self._key is not None and self._workshop.use_cache:
            key = baseline_key(self._task, self._key)
            self.context.control_memory = self._workshop.cache.control_memory(key)

    def _cached_baseline(self) -> StageResult | None:
        if self._key is None or not self._workshop.use_cache:
            return None
        found = self._workshop.cache.load_baseline(baseline_key(self._task, self._key))
        if found is not None:
            self._save("baseline.json", found.report)
            return found.result
        return None

    def _keep_baseline(self, result: StageResult) -> None:
        report = self._place.folder / "baseline.json"
        if self._workshop.use_cache and self._key is not None and report.is_file():
            kept = StoredBaseline(result=result, report=report.read_bytes())
            with log_cache_failure():
                self._workshop.cache.keep_baseline(baseline_key(self._task, self._key), kept)

    def _save(self, name: str, content: bytes) -> None:
        def write() -> None:
            with storage_errors(self._place.folder):
                (self._place.folder / name).write_bytes(content)

        self._workshop.breaker.written(write)


def _image_of(task: Task, workshop: RunResources) -> ImageId:
    """The image of a task, asked for once in a run unless it is to be built for the task."""
    name, known = task.environment.image, workshop.images
    if task.environment.dockerfile is not None or task.workdir is not None:
        return resolve_image(task, workshop.provider)
    found = known.get(name)
    if found is None:
        found = known[name] = resolve_image(task, workshop.provider)
    return found


def resolve_image(task: Task, provider: SandboxProvider) -> ImageId:
    """The image that a task's sandboxes start from.

    Raises:
        UnavailableError: it is not there and cannot be had.
    """
    environment = task.environment
    return provider.resolve_image(
        environment.image, dockerfile=environment.dockerfile, workdir=task.workdir
    )


def usual_time_limit(context: StageContext) -> timedelta:
    """The time for an attempt as a whole, which no stage's own limit comes near.

    All stages' limits, the judged runs' twice for their blind controls, and some for our own work.
    """
    limits = [stage.timeout(context) for stage in PIPELINE]
    judged = [stage.timeout(context) for stage in PIPELINE if stage.name in _JUDGED]
    return sum((*limits, *judged), start=context.scaled(_OWN_SECONDS))


def _compact(evidence: Evidence) -> Evidence:
    """Evidence with the end of its output alone, before it is judged.

    The record keeps just this, so that judging it again sees what was judged first.
    """
    command, exception = evidence.command, evidence.exception
    if command is not None:
        tails = {"stdout": command.stdout[-_KEPT_OUTPUT:], "stderr": command.stderr[-_KEPT_OUTPUT:]}
        command = command.model_copy(update=tails)
    if exception is not None:
        text = exception.message.encode("utf-8", "replace").decode()
        traceback = exception.traceback[-_KEPT_OUTPUT:]
        exception = exception.model_copy(
            update={"message": text[:_KEPT_OUTPUT], "traceback": traceback}
        )
    return evidence.model_copy(update={"command": command, "exception": exception})


def _discard_output(stream: Stream, chunk: bytes) -> None:
    del stream, chunk
