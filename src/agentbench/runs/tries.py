"""One try at an attempt on this machine: its folder made, walked, its record on disk."""

import time
from dataclasses import dataclass, field

from agentbench.agents.interface import Agent
from agentbench.runs.attempt import walk
from agentbench.runs.board import Entry
from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord, RunId
from agentbench.runs.store import RunStore
from agentbench.runs.workshop import Place, Workshop
from agentbench.scoring.taxonomy import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTries:
    """Makes tries at the attempts of one run; safe to use from several threads."""

    run_id: RunId
    agent: Agent
    workshop: Workshop
    store: RunStore
    queued_at: float = field(default_factory=time.monotonic)

    def make(self, planned: Planned) -> AttemptRecord:
        """Make one try, once everything is there that attempts need.

        Raises:
            StorageError: its record cannot be written.
            OutageError: something was away for longer than anybody waits.
        """
        with self.workshop.board.entry(planned.task.id, planned.attempt) as entry:
            return self._made(planned, entry)

    def _made(self, planned: Planned, entry: Entry) -> AttemptRecord:
        breaker = self.workshop.breaker
        breaker.require()
        folder, retry = breaker.written(
            lambda: self.store.attempt_folder(planned.task.id, planned.attempt)
        )
        entry.retry_of = retry or None
        place = Place(
            folder=folder,
            run_id=self.run_id,
            attempt=planned.attempt,
            retry_of=retry or None,
            queued_at=self.queued_at,
            entry=entry,
        )
        record = walk(planned.task, self.agent, self.workshop, place)
        breaker.written(lambda: self.store.append(record, folder))
        if record.fault is Fault.INFRASTRUCTURE:
            breaker.suspect()
        return record
