"""Attempts on the nodes of a Ray cluster; the run's folder stays with the driver.

A node offers as many slots as it has of the custom resource `agentbench`. Ray itself retries
nothing: the try of a lost node is recorded, and the scheduler starts another.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cache
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Self

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

from agentbench.agents.interface import Agent
from agentbench.attempt.outages import storage_errors
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.recording import excluded_record
from agentbench.attempt.resources import AttemptSlot, AttemptStatus, RunResources
from agentbench.errors import AgentbenchError, RunCancelled, SandboxError, UnavailableError
from agentbench.extensions.ray import remote_attempt
from agentbench.extensions.ray.remote_attempt import RemoteAttempt, RemoteResult
from agentbench.runs.executors import FinishedAttempt
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.store import RunStore
from agentbench.tasks.task import Task
from agentbench.taxonomy import Fault

SLOT = "agentbench"
"""The custom resource that nodes offer: one for each parallel attempt."""

_MOST_ARCHIVES = 64  # tasks whose packed files are cached
_ATTEMPTS_PER_CPU = 2  # attempts share a core, since each of them waits much of its time
_POLL = 1.0  # seconds between two checks whether a try is cancelled
_GRACE = 60.0  # seconds that attempts have to end themselves after Ctrl-C


def connect() -> int:
    """Join a cluster as its driver, if not done yet; returns its number of slots.

    The cluster is that of $RAY_ADDRESS, or of this machine.

    Raises:
        UnavailableError: there is no cluster, or none of its nodes offers a slot.
    """
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray.init(
                address=os.environ.get("RAY_ADDRESS") or "auto",
                log_to_driver=False,
                logging_level="error",
            )
        except (ConnectionError, RayError) as error:
            first = str(error).partition("\n")[0]
            raise UnavailableError(
                f"no Ray cluster: {first}; start one with `ray start --head "
                f"--resources='{{\"{SLOT}\": 4}}'`, or set RAY_ADDRESS"
            ) from error
    slots = int(ray.cluster_resources().get(SLOT, 0))
    if not slots:
        raise UnavailableError(
            f"no node of the Ray cluster offers {SLOT!r}; start nodes with `ray start "
            f"--address=… --resources='{{\"{SLOT}\": N}}'`, N being the attempts at a time"
        )
    return slots


@dataclass(frozen=True, slots=True, kw_only=True)
class _RemoteTask:
    """A try that a node makes."""

    planned: PlannedAttempt
    slot: AttemptSlot
    status: AttemptStatus


class TaskFiles:
    """The packed files of tasks; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._packed: dict[str, bytes] = {}  # by the digests of the tasks

    def of(self, task: Task) -> bytes:
        """The files of a task as a tar.

        Raises:
            UsageError: they are too large to be sent with every attempt.
        """
        with self._lock:
            if task.digest not in self._packed:
                if len(self._packed) >= _MOST_ARCHIVES:
                    self._packed.pop(next(iter(self._packed)))
                self._packed[task.digest] = remote_attempt.pack_task(task)
            return self._packed[task.digest]


@cache
def _remote_function(make: Callable[[RemoteAttempt], RemoteResult]) -> Any:  # noqa: ANN401 - Ray's
    """The function as a remote one; Ray exports each of them to the whole cluster."""
    return ray.remote(make)


class RayExecutor:
    """Sends each try to a free slot, and writes its record when it comes back."""

    def __init__(
        self,
        worker: remote_attempt.WorkerConfig,
        agent: Agent,
        resources: RunResources,
        store: RunStore,
        make: Callable[[RemoteAttempt], RemoteResult] = remote_attempt.run_on_node,
        files: TaskFiles | None = None,
    ) -> None:
        """Make tries for the run in a store; `make` is the work of a node."""
        self._worker = worker
        self._agent = agent
        self._resources = resources
        self._store = store
        self._remote = _remote_function(make)
        self._remote_tasks: dict[Any, _RemoteTask] = {}  # by ObjectRef; ray is typed nowhere
        self._returned: SimpleQueue[tuple[Any, Future[RemoteResult]]] = SimpleQueue()
        self._cancelled_at: float | None = None
        self._files = files or TaskFiles()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        while self._remote_tasks:
            self.ended(within=1.0)

    def start(self, planned: PlannedAttempt) -> None:
        """Send one try to a node with a free slot."""
        breaker, task = self._resources.breaker, planned.task
        files = self._files.of(task)
        breaker.require()
        folder, retry = breaker.written(
            lambda: self._store.attempt_folder(task.id, planned.attempt)
        )
        attempt = RemoteAttempt(
            worker=self._worker,
            task=task,
            files=files,
            attempt=planned.attempt,
            retry_of=retry or None,
        )
        remote = self._remote.options(
            name=f"{task.id}/{folder.name}",
            num_cpus=task.environment.cpus / _ATTEMPTS_PER_CPU,
            memory=task.environment.memory_mib << 20,
            resources={SLOT: 1},
            max_retries=0,
        )
        slot = AttemptSlot(
            folder=folder,
            run_id=self._worker.run_id,
            attempt=planned.attempt,
            retry_of=retry or None,
            queued_at=time.monotonic(),
        )
        ref = remote.remote(attempt)
        status = self._resources.live_status.begin(task.id, planned.attempt, retry_of=retry or None)
        status.where = "the cluster"
        self._remote_tasks[ref] = _RemoteTask(planned=planned, slot=slot, status=status)
        ref.future().add_done_callback(lambda future: self._returned.put((ref, future)))

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        """The tries that have ended or were lost since, each with its record on disk."""
        if self._resources.cancel.is_set():
            self._cancel_attempts()
        try:
            ended = [self._finish(*self._returned.get(timeout=within))]
        except Empty:
            return ()
        while not self._returned.empty():
            ended.append(self._finish(*self._returned.get_nowait()))
        return ended

    def _cancel_attempts(self) -> None:
        """Ask nodes to end their tries; after a grace period, end their processes."""
        now = time.monotonic()
        if self._cancelled_at is None:
            self._cancelled_at = now
        elif now < self._cancelled_at + _GRACE:
            return
        late = now >= self._cancelled_at + _GRACE
        for ref in self._remote_tasks:
            ray.cancel(ref, force=late)

    def _finish(self, ref: object, future: "Future[RemoteResult]") -> FinishedAttempt:
        away = self._remote_tasks.pop(ref)
        self._resources.live_status.end(away.status)
        try:
            record = self._unpacked(away, future.result())
        except TaskCancelledError:
            record = self._excluded_record(away, RunCancelled("stopped before it began"))
        except RayTaskError as error:
            if not isinstance(error.cause, AgentbenchError):
                raise  # a bug of ours
            record = self._excluded_record(away, SandboxError(str(error.cause)))
        except RayError as error:
            cancelled = self._cancelled_at is not None
            message = str(error).strip().partition("\n")[0]
            fault = RunCancelled(message) if cancelled else SandboxError(f"node lost: {message}")
            record = self._excluded_record(away, fault)
        breaker, folder = self._resources.breaker, away.slot.folder
        breaker.written(lambda: self._store.append(record, folder))
        if record.fault is Fault.INFRASTRUCTURE:
            breaker.suspect()
        return FinishedAttempt(planned=away.planned, record=record)

    def _unpacked(self, away: _RemoteTask, brought: RemoteResult) -> AttemptRecord:
        def write() -> None:
            """Write the file atomically."""
            with storage_errors(away.slot.folder):
                remote_attempt.unpack(brought.files.content, away.slot.folder)

        self._resources.breaker.written(write)
        record, since = brought.record, time.monotonic() - (away.slot.queued_at or 0.0)
        waited = max(0.0, since - record.timing.total_s)
        facts = {**record.environment.facts, "node": brought.node}
        left_out = brought.files.left_out
        warnings = tuple(f"{name}: too large to come from its node" for name in left_out)
        return record.replace(
            timing=record.timing.replace(queue_wait_s=waited),
            environment=record.environment.replace(facts=facts),
            warnings=(*record.warnings, *warnings),
        )

    def _excluded_record(self, away: _RemoteTask, fault: BaseException) -> AttemptRecord:
        return excluded_record(away.planned.task, self._agent, self._resources, away.slot, fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class RayAttempts:
    """Makes single tries, each with an agent of its own; safe to use from several threads."""

    worker: remote_attempt.WorkerConfig
    store: RunStore
    files: TaskFiles = field(default_factory=TaskFiles)

    def make(self, planned: PlannedAttempt, agent: Agent, resources: RunResources) -> AttemptRecord:
        """Make one try on a node, and wait for its end.

        Raises:
            StorageError: its record cannot be written.
            OutageError: something was unavailable for longer than attempts wait.
            UsageError: the task is too large to be sent.
        """
        worker = replace(self.worker, agent=agent)
        with RayExecutor(worker, agent, resources, self.store, files=self.files) as executor:
            executor.start(planned)
            while not (ended := executor.ended(within=_POLL)):
                pass
        return ended[0].record
