"""Attempts in threads of this process: each one's folder, run and record."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Self

from agentbench.agents.interface import Agent
from agentbench.attempt.attempt import run_attempt
from agentbench.attempt.executor_name import ExecutorName
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.runs.executors import FinishedAttempt, cluster_of
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import Fault


def slots_elsewhere(executor: ExecutorName) -> int | None:
    """The parallel attempts that an executor's machines allow; None: it is this machine.

    Raises:
        UsageError: its extension or its library is missing.
        UnavailableError: there is no cluster, or none with slots.
    """
    cluster = cluster_of(executor)
    return None if cluster is None else cluster.connect()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAttempts:
    """Makes tries at the attempts of one run; safe to use from several threads."""

    run_id: RunId
    agent: Agent
    resources: RunResources
    store: RunStore
    queued_at: float = field(default_factory=time.monotonic)

    def make(self, planned: PlannedAttempt) -> AttemptRecord:
        """Make one try, once everything that attempts need is available.

        Raises:
            StorageError: its record cannot be written.
            OutageError: something was unavailable for longer than attempts wait.
        """
        task, number, breaker = planned.task, planned.attempt, self.resources.breaker
        with self.resources.live_status.tracked(task.id, number) as status:
            status.waits_for = lambda: breaker.fault
            breaker.require()
            folder, retry = breaker.written(lambda: self.store.attempt_folder(task.id, number))
            status.retry_of = retry or None
            slot = AttemptSlot(
                folder=folder,
                run_id=self.run_id,
                attempt=number,
                retry_of=retry or None,
                queued_at=self.queued_at,
                status=status,
            )

            def store(record: AttemptRecord) -> None:
                breaker.written(lambda: self.store.append(record, folder))

            record = run_attempt(task, self.agent, self.resources, slot, store)
        if record.fault is Fault.INFRASTRUCTURE:
            breaker.suspect()
        return record


class LocalExecutor:
    """Makes each try in a thread of a pool."""

    def __init__(self, make: Callable[[PlannedAttempt], AttemptRecord], *, jobs: int) -> None:
        self._make = make
        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="attempt")
        self._ended: SimpleQueue[Future[FinishedAttempt]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(wait=True)

    def start(self, planned: PlannedAttempt) -> None:
        def work() -> FinishedAttempt:
            return FinishedAttempt(planned=planned, record=self._make(planned))

        self._pool.submit(work).add_done_callback(self._ended.put)

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        try:
            ended = [self._ended.get(timeout=within)]
        except Empty:
            return ()
        while not self._ended.empty():
            ended.append(self._ended.get_nowait())
        return [future.result() for future in ended]
