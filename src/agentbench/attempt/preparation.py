"""Prepares a task for an attempt: runs the first three stages, or loads their stored result."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath
from uuid import uuid4

from msgspec.structs import replace

from agentbench.attempt import preparation_cache
from agentbench.attempt.context import (
    HiddenTests,
    PreparedContext,
    StageContext,
    StageOutput,
    limits_of,
)
from agentbench.attempt.expected_tests import with_located_tests
from agentbench.attempt.judge_by_script import JudgeByScript
from agentbench.attempt.judge_by_tests import JudgeByTests
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import attempt_time_limit, stage_timeout
from agentbench.attempt.shared_checkouts import SharedCheckouts
from agentbench.attempt.stage_runner import PREPARATION, StageRunner
from agentbench.attempt.stages.git_checkout import check_out, git_checkout
from agentbench.attempt.stages.git_clone import fetched_commit, git_clone
from agentbench.attempt.stages.setup import setup
from agentbench.attempt.task_image import with_image, with_runtime
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.files import owned_folder
from agentbench.errors import (
    GitCheckoutError,
    GitCloneError,
    RunCancelled,
    SandboxError,
    UnavailableError,
)
from agentbench.integrity.control_plan import ControlMemory
from agentbench.sandbox.egress.plan import NetworkPlan, open_with_network
from agentbench.sandbox.interface import Command, ImageId, OutputSink, Sandbox, SnapshotId
from agentbench.tasks.task import Task
from agentbench.tasks.test_command import parse_test_command
from agentbench.taxonomy import FailureReason, StageName
from agentbench.test_runs.python_runners import runner_of

# Errors before the first stage which that stage records.
_RECORDED = (UnavailableError, SandboxError, GitCloneError, OSError, RunCancelled)
_LOCK_POLL = 0.2  # seconds
_TRUST_INDEX = ("touch", "-d", "2100-01-01T00:00:00", ".git/index")
_TOUCH_TIMEOUT = timedelta(minutes=1)


def prepare_task(task: Task, resources: RunResources) -> PreparedContext:
    """Prepare a task without an attempt, or load its preparation from the cache.

    The result runs stages whose files and output are discarded.

    Args:
        task: The task; its hidden tests are not part of the state.
        resources: The run's resources; they must use a cache, or nothing would be stored.

    Raises:
        UnavailableError: a stage failed; the message says which, and why.
        RunCancelled: the run was cancelled.
    """
    with owned_folder("agentbench-logs-") as logs:
        slot = AttemptSlot(folder=logs, run_id=RunId("prepare"), attempt=1)
        stages = StageRunner(resources, slot)
        with prepared_task(task, resources, stages) as ready:
            if isinstance(ready, PreparedContext):
                return replace(ready, cancel=resources.cancel, save=lambda _name, _content: None)
    failure = stages.last_failure()
    if failure is not None and failure.reason is FailureReason.INTERRUPTED:
        raise RunCancelled
    why = "it did not end" if failure is None else f"{failure.reason}: {failure.detail}"
    raise UnavailableError(f"{task.id} cannot be prepared: {why}")


@dataclass(frozen=True, kw_only=True)
class NotPrepared:
    """What is known of a task whose preparation failed; the results of the stages say why."""

    task: Task  # with the name of its image, if that could be resolved
    image: ImageId | None


@contextmanager
def prepared_task(
    task: Task, resources: RunResources, stages: StageRunner
) -> Iterator[PreparedContext | NotPrepared]:
    """The inputs of the stages after set-up; a state that is not cached is removed at the end.

    Raises:
        StorageError: the disk has no space for the files of a stage.
    """
    cache, is_cached = resources.cache, resources.settings.use_cache
    try:
        inputs = _first_inputs(task, resources, stages)
        unique = f"{preparation_cache.UNCACHED_PREFIX}{uuid4().hex}"
        key = cache.key(task, inputs.image) if is_cached else unique
    except _RECORDED as error:
        _record_failure(error, stages)
        yield NotPrepared(task=task, image=None)
        return
    try:
        preparation = _Preparation(
            task=task, key=key, inputs=inputs, resources=resources, stages=stages
        )
        prepared = preparation.prepared()
        if prepared is None:
            yield NotPrepared(task=inputs.task, image=inputs.image)
        else:
            yield _later_inputs(task, inputs, prepared, resources, key if is_cached else None)
    finally:
        if not is_cached:
            with preparation_cache.log_removal_failure():
                cache.forget(key)


def _record_failure(error: Exception | RunCancelled, stages: StageRunner) -> None:
    """Let git_clone end by an error that came before it."""

    def fail(_sink: OutputSink) -> StageOutput:
        """Raise it."""
        raise error

    stages.run(StageName.GIT_CLONE, fail)


def _first_inputs(task: Task, resources: RunResources, stages: StageRunner) -> StageContext:
    """The inputs of the first stages, with the image of the task."""
    task = with_image(task, resources.provider, resources.mirrors)
    task = with_runtime(task, resources.settings.runtime)
    return StageContext(
        task=task,
        image=resources.image_of(task),
        settings=resources.settings,
        provider=resources.provider,
        mirrors=resources.mirrors,
        hidden_tests=HiddenTests(task, resources.mirrors),
        cancel=stages.deadline,
        sink=lambda _stream, _chunk: None,
        save=stages.save,
        runner=runner_of(parse_test_command(task.problem.test_command)),
        judge=JudgeByScript() if task.answer_key.verifier is not None else JudgeByTests(),
        background=resources.background,
        extend=stages.deadline.extend,
    )


def _later_inputs(
    task: Task,
    inputs: StageContext,
    prepared: preparation_cache.PreparedTask,
    resources: RunResources,
    key: str | None,
) -> PreparedContext:
    """The inputs of the stages after set-up; without a key, their state is not cached."""
    cache = resources.cache
    baseline_key = None if key is None else preparation_cache.baseline_key(task, key)
    memory = ControlMemory() if baseline_key is None else cache.control_memory(baseline_key)
    ready = inputs.after_setup(
        prepared, memory, cache.sealed_memory(baseline_key, task), baseline_key
    )
    with suppress(GitCheckoutError, GitCloneError):  # baseline_run raises it again
        hidden = ready.hidden_tests.files

        def content(path: PurePosixPath) -> bytes | None:
            """A file as the final test has it."""
            file = hidden.get(path)
            return file.content if file is not None else prepared.content(path)

        paths = {**prepared.base, **hidden}
        return replace(ready, task=with_located_tests(ready.task, paths, content, ready.runner))
    return ready


@dataclass(frozen=True, kw_only=True)
class _Preparation:
    """One preparation of a task, under its key in the cache."""

    task: Task
    key: str
    inputs: StageContext
    resources: RunResources
    stages: StageRunner

    def prepared(self) -> preparation_cache.PreparedTask | None:
        """The state after set-up, loaded or made; None if a stage failed."""
        with ExitStack() as lock, preparation_cache.closing_sandboxes() as opened:
            found, inputs = None, self.inputs
            with suppress(*_RECORDED):  # the first stage meets the same error, which is recorded
                if self.resources.settings.use_cache:
                    lock.enter_context(self._locked(self.key))
                    found = self._loaded()
                    if found is None and self.task.setup.shared:
                        inputs = replace(inputs, shared_setup=self._shared_state())
            # The time that an attempt waits for the preparation by another one does not count.
            self.stages.deadline.begin(attempt_time_limit(self.task, self.resources.settings))
            prepared = found if found is not None else self._run_stages(inputs, opened)
            if prepared is not None:
                self._store_results(prepared)
                self.resources.background.remove(opened.pop_all().close)
            return prepared

    def _loaded(self) -> preparation_cache.PreparedTask | None:
        """The stored state, of this machine or of a registry, with the results of its stages."""
        shared = self.resources.shared
        found = self.resources.cache.load(self.key)
        if found is None and shared is not None:
            found = shared.fetch(self.key, self.task, self.inputs.image)
        if found is None:
            return None
        prepared, results = found
        self.stages.results.extend(results)
        return prepared

    def _shared_state(self) -> SnapshotId | None:
        """The state from which set-up starts, if the task shares commands with other tasks."""
        after_setup = self._shared_setup()
        if after_setup is None or self.task.source.url is None:
            return after_setup
        return self._shared_checkout(after_setup)

    def _shared_setup(self) -> SnapshotId | None:
        """The state after the shared commands, created once for all tasks with equal commands.

        None if a command fails: then set-up runs the commands itself, and returns the evidence.
        """
        task, cache, image = self.task, self.resources.cache, self.inputs.image
        key = cache.shared_key(task, image)
        with self._locked(key), preparation_cache.closing_sandboxes() as opened:
            if key in cache.failed_shared_setups:
                return None
            if (found := cache.load(key)) is not None:
                return found[0].snapshot
            deadline, limits = self.stages.deadline, limits_of(task)
            network, provider = task.setup.network, self.resources.provider
            sandbox = opened.enter_context(
                open_with_network(
                    lambda mounts: provider.open(
                        image,
                        limits=limits,
                        network=network is True,
                        mounts=mounts,
                        cancel=deadline,
                    ),
                    NetworkPlan(first=network),
                )
            )
            timeout = stage_timeout(StageName.SETUP, task, self.resources.settings)
            for line in task.setup.shared:
                argv, env = ("sh", "-c", line), task.environment.env
                if not sandbox.run(Command(argv=argv, timeout=timeout, env=env)).ok:
                    cache.failed_shared_setups.add(key)
                    return None
            snapshot = cache.keep(key, sandbox).snapshot
            cache.keep_results(key, ())
            return snapshot

    def _shared_checkout(self, after_setup: SnapshotId) -> SnapshotId:
        """The state after the shared commands with the checkout of a similar commit.

        Its files take disk space only once for all tasks that start from it.
        """
        cache, inputs = self.resources.cache, replace(self.inputs, shared_setup=after_setup)
        source = self.task.source
        shared_key = cache.shared_key(self.task, inputs.image)
        with self._locked(shared_key), preparation_cache.closing_sandboxes() as opened:
            mirror = self.resources.mirrors.of(source)
            checkouts = SharedCheckouts(cache, shared_key, source.url or "")
            if (similar := checkouts.similar_to(mirror)) is not None:
                return similar
            if not mirror.has_commit:
                return after_setup
            sandbox, fetched = fetched_commit(inputs, opened, mirror)
            # Git hashes files again that are not older than its index, and touches their objects.
            trust = Command(argv=_TRUST_INDEX, timeout=_TOUCH_TIMEOUT)
            if not (fetched.ok and check_out(inputs, sandbox).ok and sandbox.run(trust).ok):
                return after_setup
            key = checkouts.add(mirror.commit)
            snapshot = cache.keep(key, sandbox).snapshot
            cache.keep_results(key, ())
            return snapshot

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        lock = FileLock(self.resources.cache.lock_path(key))
        while not self.stages.deadline.is_set():
            try:
                lock.acquire(timeout=_LOCK_POLL)
                break
            except LockHeldError:
                continue
        try:
            yield
        finally:
            lock.release()

    def _run_stages(
        self, inputs: StageContext, opened: ExitStack
    ) -> preparation_cache.PreparedTask | None:
        """Clone, check out and set up; None if a stage failed."""

        def store(sandbox: Sandbox) -> preparation_cache.PreparedTask:
            """Store the state."""
            return self.resources.cache.keep(self.key, sandbox)

        run = self.stages.run_to_success
        clone = run(StageName.GIT_CLONE, lambda sink: git_clone(replace(inputs, sink=sink), opened))
        if clone is None:
            return None
        checked_out = run(
            StageName.GIT_CHECKOUT, lambda sink: git_checkout(replace(inputs, sink=sink), clone)
        )
        if checked_out is None:
            return None
        done = run(StageName.SETUP, lambda sink: setup(replace(inputs, sink=sink), clone, store))
        return done.prepared if done is not None else None

    def _store_results(self, prepared: preparation_cache.PreparedTask) -> None:
        fresh = [result for result in self.stages.results if not result.cached]
        shared, image = self.resources.shared, self.inputs.image
        if not self.resources.settings.use_cache or len(fresh) != len(PREPARATION):
            return
        with preparation_cache.log_cache_failure():
            self.resources.cache.keep_results(self.key, fresh)
            if shared is not None:
                self.resources.background.submit(
                    lambda: shared.offer(prepared.snapshot, self.task, image, fresh)
                )
