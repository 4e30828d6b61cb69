"""Prepares a task for an attempt: runs the first three stages, or loads their stored result."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import PurePosixPath
from uuid import uuid4

from msgspec.structs import replace

from agentbench.attempt import preparation_cache
from agentbench.attempt.context import HiddenTests, PreparedContext, StageContext, limits_of
from agentbench.attempt.judged_tests import with_located_tests
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.shared_checkouts import SharedCheckouts
from agentbench.attempt.stage_runner import (
    PREPARATION,
    StageRunner,
    attempt_time_limit,
    stage_timeout,
)
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
from agentbench.scoring.evidence import StageResult
from agentbench.tasks.task import Task
from agentbench.taxonomy import FailureReason, StageName

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
        ready = TaskPreparation(task, resources, stages).prepare()
    if ready is None:
        failure = stages.last_failure()
        if failure is not None and failure.reason is FailureReason.INTERRUPTED:
            raise RunCancelled
        why = "it did not end" if failure is None else f"{failure.reason}: {failure.detail}"
        raise UnavailableError(f"{task.id} cannot be prepared: {why}")
    return replace(ready, cancel=resources.cancel, save=lambda _name, _content: None)


class TaskPreparation:
    """The preparation of one task for one attempt, and its entries in the cache."""

    def __init__(self, task: Task, resources: RunResources, stages: StageRunner) -> None:
        self._task = task
        self.task = task  # with the name of its image, once that is known
        self._resources = resources
        self._stages = stages
        self._context: StageContext | None = None  # None: the image is not resolved yet
        self._key: str | None = None
        # Other attempts at the task share it as long as one of them has it.
        self._baseline: preparation_cache.StoredBaseline | None = None

    @property
    def image(self) -> ImageId | None:
        """The image, if it could be resolved."""
        return self._context.image if self._context is not None else None

    def prepare(self) -> PreparedContext | None:
        """The inputs of the later stages; None if a stage failed."""
        with self._lock_and_load() as found, preparation_cache.closing_sandboxes() as opened:
            limit = attempt_time_limit(self._task, self._resources.settings)
            self._stages.deadline.begin(limit)  # does not count the wait for another attempt
            prepared = found if found is not None else self._run_stages(opened)
            if prepared is None or self._context is None:
                return None
            self._store_results(prepared)
            self._resources.background.remove(opened.pop_all().close)
        sealed = self._resources.cache.sealed_memory(self._baseline_key, self._task)
        ready = self._context.after_setup(prepared, self._control_memory(), sealed)
        with suppress(GitCheckoutError, GitCloneError):  # baseline_run raises it again
            hidden = ready.hidden_tests.files

            def content(path: PurePosixPath) -> bytes | None:
                file = hidden.get(path)
                return file.content if file is not None else prepared.content(path)

            self.task = with_located_tests(self.task, {**prepared.base, **hidden}, content)
        return replace(ready, task=self.task)

    def load_baseline(self) -> StageResult | None:
        """The stored baseline run; its report, if any, becomes a file of the attempt."""
        key = self._baseline_key
        found = self._resources.cache.load_baseline(key) if key is not None else None
        self._baseline = found
        if found is None:
            return None
        if found.report:  # a script leaves no report
            self._stages.save("baseline.json", found.report)
        return found.result

    def store_baseline(self, result: StageResult, report: bytes) -> None:
        """Store a baseline run for later attempts."""
        key = self._baseline_key
        if key is not None:
            stored = preparation_cache.StoredBaseline(result=result, report=report)
            with preparation_cache.log_cache_failure():
                self._resources.cache.keep_baseline(key, stored)

    def forget_uncached(self) -> None:
        """Remove a preparation that only this attempt may use."""
        if self._key is not None and self._cached_key is None:
            with preparation_cache.log_removal_failure():
                self._resources.cache.forget(self._key)

    @property
    def _cached_key(self) -> str | None:
        return self._key if self._resources.settings.use_cache else None

    @property
    def _baseline_key(self) -> str | None:
        key = self._cached_key
        return None if key is None else preparation_cache.baseline_key(self._task, key)

    def _inputs(self) -> StageContext:
        """The inputs of the first stages; resolves the image when first called."""
        if self._context is None:
            resources = self._resources
            task = with_image(self._task, resources.provider, resources.mirrors)
            task = with_runtime(task, resources.settings.runtime)
            self.task = task
            self._context = StageContext(
                task=task,
                image=resources.image_of(task),
                settings=resources.settings,
                provider=resources.provider,
                mirrors=resources.mirrors,
                hidden_tests=HiddenTests(task, resources.mirrors),
                cancel=self._stages.deadline,
                sink=lambda _stream, _chunk: None,
                save=self._stages.save,
                background=resources.background,
                extend=self._stages.deadline.extend,
                control_slots=resources.control_slots,
            )
        return self._context

    @contextmanager
    def _lock_and_load(self) -> Iterator[preparation_cache.PreparedTask | None]:
        """Take the preparation's lock, and load the preparation if another attempt stored it."""
        with ExitStack() as locks:
            found = None
            # The first stage raises the same error, which records it.
            with suppress(UnavailableError, SandboxError, GitCloneError, OSError, RunCancelled):
                found = self._load(locks)
            yield found

    def _load(self, locks: ExitStack) -> preparation_cache.PreparedTask | None:
        image, cache, shared = self._inputs().image, self._resources.cache, self._resources.shared
        if not self._resources.settings.use_cache:
            self._key = f"{preparation_cache.UNCACHED_PREFIX}{uuid4().hex}"
            return None
        self._key = key = cache.key(self._task, image)
        locks.enter_context(self._locked(key))
        found = cache.load(key)
        if found is None and shared is not None:
            found = shared.fetch(key, self._task, image)
        if found is None and self._task.setup.shared:
            self._context = replace(self._inputs(), shared_setup=self._shared_setup(image))
            if self._context.shared_setup is not None and self._task.source.url is not None:
                self._context = replace(self._context, shared_setup=self._shared_checkout(image))
        prepared, results = found or (None, ())
        self._stages.results.extend(results)
        return prepared

    def _shared_setup(self, image: ImageId) -> SnapshotId | None:
        """The state after the shared commands, created once for all tasks with equal commands.

        None if a command fails: then set-up runs the commands itself, and returns the evidence.
        """
        task, cache = self._task, self._resources.cache
        key = cache.shared_key(task, image)
        with self._locked(key), preparation_cache.closing_sandboxes() as opened:
            if key in cache.failed_shared_setups:
                return None
            if (found := cache.load(key)) is not None:
                return found[0].snapshot
            deadline, limits = self._stages.deadline, limits_of(task)
            network, provider = task.setup.network, self._resources.provider
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
            timeout = stage_timeout(StageName.SETUP, task, self._resources.settings)
            for line in task.setup.shared:
                argv, env = ("sh", "-c", line), task.environment.env
                if not sandbox.run(Command(argv=argv, timeout=timeout, env=env)).ok:
                    cache.failed_shared_setups.add(key)
                    return None
            snapshot = cache.keep(key, sandbox).snapshot
            cache.keep_results(key, ())
            return snapshot

    def _shared_checkout(self, image: ImageId) -> SnapshotId | None:
        """The state after the shared commands with the checkout of a similar commit.

        Its files take disk space only once for all tasks that start from it.
        """
        cache, inputs = self._resources.cache, self._inputs()
        source = self._task.source
        shared_key = cache.shared_key(self._task, image)
        with self._locked(shared_key), preparation_cache.closing_sandboxes() as opened:
            mirror = self._resources.mirrors.of(source)
            checkouts = SharedCheckouts(cache, shared_key, source.url or "")
            if (similar := checkouts.similar_to(mirror)) is not None:
                return similar
            if not mirror.has_commit:
                return inputs.shared_setup
            sandbox, fetched = fetched_commit(inputs, opened, mirror)
            # Git hashes files again that are not older than its index, and touches their objects.
            trust = Command(argv=_TRUST_INDEX, timeout=_TOUCH_TIMEOUT)
            if not (fetched.ok and check_out(inputs, sandbox).ok and sandbox.run(trust).ok):
                return inputs.shared_setup
            key = checkouts.add(mirror.commit)
            snapshot = cache.keep(key, sandbox).snapshot
            cache.keep_results(key, ())
            return snapshot

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        lock = FileLock(self._resources.cache.lock_path(key))
        while not self._stages.deadline.is_set():
            try:
                lock.acquire(timeout=_LOCK_POLL)
                break
            except LockHeldError:
                continue
        try:
            yield
        finally:
            lock.release()

    def _run_stages(self, opened: ExitStack) -> preparation_cache.PreparedTask | None:
        def inputs(sink: OutputSink) -> StageContext:
            """The inputs of one stage with its log."""
            return replace(self._inputs(), sink=sink)

        run = self._stages.run_to_success
        clone = run(StageName.GIT_CLONE, lambda sink: git_clone(inputs(sink), opened))
        if clone is None:
            return None
        if run(StageName.GIT_CHECKOUT, lambda sink: git_checkout(inputs(sink), clone)) is None:
            return None
        done = run(StageName.SETUP, lambda sink: setup(inputs(sink), clone, self._store_snapshot))
        return done.prepared if done is not None else None

    def _store_snapshot(self, sandbox: Sandbox) -> preparation_cache.PreparedTask:
        assert self._key is not None  # git_clone needs the image that the key contains
        return self._resources.cache.keep(self._key, sandbox)

    def _store_results(self, prepared: preparation_cache.PreparedTask) -> None:
        fresh = [result for result in self._stages.results if not result.cached]
        shared, image = self._resources.shared, self.image
        if self._cached_key is None or image is None or len(fresh) != len(PREPARATION):
            return
        with preparation_cache.log_cache_failure():
            self._resources.cache.keep_results(self._cached_key, fresh)
            if shared is not None:
                self._resources.background.submit(
                    lambda: shared.offer(prepared.snapshot, self._task, image, fresh)
                )

    def _control_memory(self) -> ControlMemory:
        key = self._baseline_key
        return ControlMemory() if key is None else self._resources.cache.control_memory(key)
