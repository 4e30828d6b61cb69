"""The preparation of one task: its inputs, its place in the cache, and what tasks share of it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Self
from uuid import uuid4

from agentbench.attempt.context import HiddenTests, PreparedContext, StageContext, limits_of
from agentbench.attempt.deadline import AttemptDeadline
from agentbench.attempt.expected_tests import with_located_tests
from agentbench.attempt.judge_by_script import JudgeByScript
from agentbench.attempt.judge_by_tests import JudgeByTests
from agentbench.attempt.logs import AttemptFiles
from agentbench.attempt.preparation_cache import (
    UNCACHED_PREFIX,
    PreparedTask,
    baseline_key,
    closing_sandboxes,
    log_cache_failure,
    log_removal_failure,
)
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import stage_timeout
from agentbench.attempt.shared_checkouts import SharedCheckouts
from agentbench.attempt.stages.git_checkout import check_out
from agentbench.attempt.stages.git_clone import fetched_commit
from agentbench.attempt.task_image import with_image, with_runtime
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.errors import GitCheckoutError, GitCloneError, RunCancelled
from agentbench.integrity.control_plan import ControlMemory
from agentbench.sandbox.egress.plan import NetworkPlan, open_with_network
from agentbench.sandbox.interface import Command, SnapshotId
from agentbench.scoring.evidence import StageResult
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName
from agentbench.test_runs.runners import runner_of

_LOCK_POLL = 0.2  # seconds
_TRUST_INDEX = ("touch", "-d", "2100-01-01T00:00:00", ".git/index")
_TOUCH_TIMEOUT = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """One preparation of a task, under its key in the cache."""

    task: Task
    key: str
    inputs: StageContext
    resources: RunResources
    deadline: AttemptDeadline

    @classmethod
    def of(
        cls, task: Task, resources: RunResources, files: AttemptFiles, deadline: AttemptDeadline
    ) -> Self:
        """The preparation of a task for one attempt.

        Raises:
            UnavailableError: there is no image for the task.
            SandboxError: the engine is lost.
            GitCloneError: the task's repository cannot be read.
            OSError: the cache cannot be written.
        """
        named = with_image(task, resources.provider, resources.mirrors)
        named = with_runtime(named, resources.settings.runtime)
        inputs = StageContext(
            task=named,
            image=resources.image_of(named),
            settings=resources.settings,
            provider=resources.provider,
            mirrors=resources.mirrors,
            hidden_tests=HiddenTests(named, resources.mirrors),
            cancel=deadline,
            sink=lambda _stream, _chunk: None,
            save=files.save,
            runner=runner_of(named.problem.tests),
            judge=JudgeByScript() if named.answer_key.verifier is not None else JudgeByTests(),
            background=resources.background,
            extend=deadline.extend,
        )
        is_cached = resources.settings.use_cache
        unique = f"{UNCACHED_PREFIX}{uuid4().hex}"
        # An uncached preparation has a key, too: its snapshot needs a name, and is found after a
        # crash.
        key = resources.cache.key(task, inputs.image) if is_cached else unique
        return cls(task=task, key=key, inputs=inputs, resources=resources, deadline=deadline)

    @property
    def is_cached(self) -> bool:
        return self.resources.settings.use_cache

    @contextmanager
    def removed_if_not_cached(self) -> Iterator[None]:
        """Remove the state after the block, unless later attempts use it."""
        try:
            yield
        finally:
            if not self.is_cached:
                with log_removal_failure():
                    self.resources.cache.forget(self.key)

    @contextmanager
    def locked(self, key: str | None = None) -> Iterator[None]:
        """Hold the lock of this key, or of another one; if the attempt ends first, do not wait."""
        lock = FileLock(self.resources.cache.lock_path(key or self.key))
        while self.is_cached and not self.deadline.is_set():
            try:
                lock.acquire(timeout=_LOCK_POLL)
                break
            except LockHeldError:
                continue
        try:
            yield
        finally:
            lock.release()

    def stored(self) -> tuple[PreparedTask, tuple[StageResult, ...]] | None:
        """The stored state, of this machine or of a registry, with the results of its stages.

        Raises:
            SandboxError: the engine is lost.
        """
        if not self.is_cached:
            return None
        shared = self.resources.shared
        found = self.resources.cache.load(self.key)
        if found is None and shared is not None:
            found = shared.fetch(self.key, self.task, self.inputs.image)
        return found

    def store(self, prepared: PreparedTask, results: tuple[StageResult, ...]) -> None:
        """Offer a state to later attempts, with the results of its stages."""
        shared, image = self.resources.shared, self.inputs.image
        if not self.is_cached:
            return
        with log_cache_failure():
            self.resources.cache.keep_results(prepared, results)
            if shared is not None:
                self.resources.background.submit(
                    lambda: shared.offer(prepared.snapshot, self.task, image, results)
                )

    def after_setup(self, prepared: PreparedTask) -> PreparedContext:
        cache, task = self.resources.cache, self.task
        # Without a cache there is no key, under which results could be stored.
        key = baseline_key(task, self.key) if self.is_cached else None
        memory = ControlMemory() if key is None else cache.control_memory(key)
        ready = self.inputs.after_setup(prepared, memory, cache.sealed_memory(key, task), key)
        # baseline_run raises it again.
        with suppress(GitCheckoutError, GitCloneError, RunCancelled):
            hidden = ready.hidden_tests.files

            def content(path: PurePosixPath) -> bytes | None:
                file = hidden.get(path)
                return file.content if file is not None else prepared.content(path)

            paths = {**prepared.base, **hidden}
            return replace(ready, task=with_located_tests(ready.task, paths, content, ready.runner))
        return ready

    def first_inputs(self) -> StageContext:
        """The inputs of the first stages, with the state that the task shares with other tasks.

        The state has the shared commands, and the checkout of a similar commit.
        """
        if not self.is_cached or not self.task.setup.shared:
            return self.inputs
        state = self._shared_setup()
        if state is not None and self.task.source.url is not None:
            state = self._shared_checkout(state)
        return replace(self.inputs, shared_setup=state)

    # The state after the shared commands, created once for all tasks with equal commands. None if a
    # command fails: then set-up runs the commands itself, and returns the evidence.
    def _shared_setup(self) -> SnapshotId | None:
        task, cache, image = self.task, self.resources.cache, self.inputs.image
        key = cache.shared_key(task, image)
        with self.locked(key), closing_sandboxes() as opened:
            if key in cache.failed_shared_setups:
                return None
            if (found := cache.load(key)) is not None:
                return found[0].snapshot
            network, provider = task.setup.network, self.resources.provider
            sandbox = opened.enter_context(
                open_with_network(
                    lambda mounts: provider.open(
                        image,
                        limits=limits_of(task),
                        network=network is True,
                        mounts=mounts,
                        cancel=self.deadline,
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
            stored = cache.keep(key, sandbox)
            cache.keep_results(stored, ())
            return stored.snapshot

    # The state after the shared commands with the checkout of a similar commit. Its files take disk
    # space only once for all tasks that start from it.
    def _shared_checkout(self, after_setup: SnapshotId) -> SnapshotId:
        cache, inputs = self.resources.cache, replace(self.inputs, shared_setup=after_setup)
        source = self.task.source
        shared_key = cache.shared_key(self.task, inputs.image)
        with self.locked(shared_key), closing_sandboxes() as opened:
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
            return checkouts.keep(mirror.commit, sandbox)
