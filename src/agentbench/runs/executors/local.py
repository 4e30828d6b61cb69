"""Attempts in threads of this process.

Each one's folder is made, the attempt run, its record written; and how many slots a run has
elsewhere.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from agentbench.agents.interface import Agent
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import AttemptSlot, AttemptStatus, RunResources
from agentbench.attempt.runner import run_pipeline
from agentbench.core.choices import ExecutorName
from agentbench.core.extras import RAY, require
from agentbench.runs.executors.interface import FinishedAttempt
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.store import RunStore
from agentbench.scoring.taxonomy import Fault


def slots_elsewhere(executor: ExecutorName) -> int | None:
    """How many attempts at a time an executor's own machines take; None: it is this machine.

    Raises:
        UsageError: its library is missing.
        UnavailableError: there is no cluster, or none with slots.
    """
    if executor is ExecutorName.LOCAL:
        return None
    require("--executor ray", RAY)
    from agentbench.runs.executors.ray_cluster import connect

    return connect()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAttempts:
    """Makes tries at the attempts of one run; safe to use from several threads."""

    run_id: RunId
    agent: Agent
    workshop: RunResources
    store: RunStore
    queued_at: float = field(default_factory=time.monotonic)

    def make(self, planned: PlannedAttempt) -> AttemptRecord:
        """Make one try, once everything is there that attempts need.

        Raises:
            StorageError: its record cannot be written.
            OutageError: something was away for longer than anybody waits.
        """
        with self.workshop.board.entry(planned.task.id, planned.attempt) as entry:
            return self._made(planned, entry)

    def _made(self, planned: PlannedAttempt, entry: AttemptStatus) -> AttemptRecord:
        breaker = self.workshop.breaker
        breaker.require()
        folder, retry = breaker.written(
            lambda: self.store.attempt_folder(planned.task.id, planned.attempt)
        )
        entry.retry_of = retry or None
        place = AttemptSlot(
            folder=folder,
            run_id=self.run_id,
            attempt=planned.attempt,
            retry_of=retry or None,
            queued_at=self.queued_at,
            entry=entry,
        )
        record = run_pipeline(planned.task, self.agent, self.workshop, place)
        breaker.written(lambda: self.store.append(record, folder))
        if record.fault is Fault.INFRASTRUCTURE:
            breaker.suspect()
        return record


class LocalExecutor:
    """Makes each try in a thread of a pool."""

    def __init__(self, make: Callable[[PlannedAttempt], AttemptRecord], *, jobs: int) -> None:
        """Make tries with a function, which leaves their records on disk."""
        self._make = make
        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="attempt")
        self._over: SimpleQueue[Future[FinishedAttempt]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True)

    def start(self, planned: PlannedAttempt) -> None:
        """Begin one try in a free thread."""
        self._pool.submit(self._one, planned).add_done_callback(self._over.put)

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        """The tries that have ended since; an exception of one is raised here."""
        try:
            over = [self._over.get(timeout=within)]
        except Empty:
            return ()
        while not self._over.empty():
            over.append(self._over.get_nowait())
        return [future.result() for future in over]

    def _one(self, planned: PlannedAttempt) -> FinishedAttempt:
        return FinishedAttempt(planned=planned, record=self._make(planned))
