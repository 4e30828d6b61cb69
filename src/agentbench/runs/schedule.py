"""Many attempts: several at a time, infrastructure failures retried, every record kept."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_result,
    stop_after_attempt,
    wait_random_exponential,
)

from agentbench.agents.interface import Agent
from agentbench.runs.admission import Admission
from agentbench.runs.attempt import walk
from agentbench.runs.record import AttemptRecord, RunId
from agentbench.runs.store import RunStore
from agentbench.runs.workshop import Place, Workshop
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.tasks.task import Task

_LONGEST_BACK_OFF = 30  # seconds
# A signal that comes in the instant before Python begins to wait is answered only after the wait.
_WINK = 0.5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One attempt that is to be made."""

    task: Task
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a run's attempts are made."""

    run_id: RunId
    jobs: int
    retries: int
    max_cost_usd: float | None = None
    on_start: Callable[[Planned], None] | None = None


def run_attempts(
    planned: Sequence[Planned],
    agent: Agent,
    workshop: Workshop,
    store: RunStore,
    schedule: Schedule,
) -> Generator[AttemptRecord, None, None]:
    """Make every planned attempt; yields each one's last record as it ends.

    Stops starting attempts when the run is cancelled or has spent its money. Closing the
    iterator cancels what is under way.
    """
    runner = _Runner(agent, workshop, store, schedule)
    waiting = iter(planned)
    with ThreadPoolExecutor(max_workers=schedule.jobs, thread_name_prefix="attempt") as pool:
        running = {pool.submit(runner.attempt, item) for item in islice(waiting, schedule.jobs)}
        try:
            while running:
                done, running = wait(running, timeout=_WINK, return_when=FIRST_COMPLETED)
                yield from _results(done)
                if _may_go_on(workshop, schedule, runner.spent_usd):
                    more = islice(waiting, schedule.jobs - len(running))
                    running |= {pool.submit(runner.attempt, item) for item in more}
        finally:
            if running:
                workshop.cancel.set()


def was_interrupted(record: AttemptRecord) -> bool:
    """Whether our own Ctrl-C cut an attempt off: such a one is made again by `resume`."""
    return any(
        failure.reason is FailureReason.INTERRUPTED and failure.fault is Fault.INFRASTRUCTURE
        for failure in record.failures
    )


class _Runner:
    """Makes one attempt, and makes it again while the infrastructure fails it."""

    def __init__(
        self, agent: Agent, workshop: Workshop, store: RunStore, schedule: Schedule
    ) -> None:
        self._agent = agent
        self._workshop = workshop
        self._store = store
        self._schedule = schedule
        self._admission = Admission(workshop.cancel)
        self._queued_at = time.monotonic()
        self._spent: list[float] = []  # by every try, also one that is made again

    @property
    def spent_usd(self) -> float:
        """What all tries so far have cost, as far as prices are known."""
        return sum(self._spent)

    def attempt(self, planned: Planned) -> AttemptRecord:
        if self._schedule.on_start is not None:
            self._schedule.on_start(planned)
        retrying: Retrying = Retrying(
            stop=stop_after_attempt(self._schedule.retries + 1),
            wait=wait_random_exponential(multiplier=1, max=_LONGEST_BACK_OFF),
            retry=retry_if_result(self._is_worth_a_retry),
            retry_error_callback=_last_result,
            sleep=self._sleep,
        )
        with self._admission.admitted(planned.task):
            record: AttemptRecord = retrying(self._once, planned)
        return record

    def _once(self, planned: Planned) -> AttemptRecord:
        breaker = self._workshop.breaker
        breaker.require()
        folder, retry = breaker.written(
            lambda: self._store.attempt_folder(planned.task.id, planned.attempt)
        )
        place = Place(
            folder=folder,
            run_id=self._schedule.run_id,
            attempt=planned.attempt,
            retry_of=retry or None,
            queued_at=self._queued_at,
        )
        record = walk(planned.task, self._agent, self._workshop, place)
        breaker.written(lambda: self._store.append(record, folder))
        if record.fault is Fault.INFRASTRUCTURE:
            breaker.suspect()
        if record.usage is not None and record.usage.cost_usd is not None:
            self._spent.append(record.usage.cost_usd)
        return record

    def _is_worth_a_retry(self, record: AttemptRecord) -> bool:
        return (
            record.fault is Fault.INFRASTRUCTURE
            and not was_interrupted(record)
            and not self._workshop.cancel.is_set()
        )

    def _sleep(self, seconds: float) -> None:
        self._workshop.cancel.wait(seconds)


def _last_result(state: RetryCallState) -> AttemptRecord:
    assert state.outcome is not None
    record: AttemptRecord = state.outcome.result()
    return record


def _results(done: set[Future[AttemptRecord]]) -> Iterator[AttemptRecord]:
    for future in done:
        yield future.result()


def _may_go_on(workshop: Workshop, schedule: Schedule, spent: float) -> bool:
    affordable = schedule.max_cost_usd is None or spent < schedule.max_cost_usd
    return affordable and not workshop.cancel.is_set()
