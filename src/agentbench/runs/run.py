"""A run: some tasks, one agent, one sandbox, several attempts, one folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf

from agentbench.agents.interface import Agent
from agentbench.agents.model_door import ModelGateway
from agentbench.runs.configuration import RunConfiguration, RunEnding
from agentbench.runs.freed_memory import giving_back
from agentbench.runs.model_setting import ModelSetting
from agentbench.runs.needs import needs_of
from agentbench.runs.outage import CircuitBreaker
from agentbench.runs.record import AttemptRecord
from agentbench.runs.remaining import not_done
from agentbench.runs.run_lock import alone
from agentbench.runs.schedule import Planned, Schedule, run_attempts
from agentbench.runs.store import RunStore
from agentbench.runs.workshop import Workshop


@dataclass(slots=True, kw_only=True)
class Run:
    """A run that is ready to go, or to go on."""

    configuration: RunConfiguration
    store: RunStore
    planned: tuple[Planned, ...]
    agent: Agent
    workshop: Workshop
    model: ModelSetting = field(default_factory=ModelSetting)
    warnings: tuple[str, ...] = ()
    retry_lost: bool = False  # also what the infrastructure failed as often as it may
    say: Callable[[str], None] = lambda _line: None
    """Is told what attempts wait for, such as an engine that is away."""

    def attempts(self) -> Iterator[AttemptRecord]:
        """Make the attempts; yields each one's last record the moment it is on disk.

        Closing the iterator before its end stops the run, and run.json says `interrupted`.

        Raises:
            StorageError: the run's disk takes nothing; what was under way is cut off.
            OutageError: the engine, a disk or the model was away for too long; likewise.
            UsageError: another process makes this run's attempts.
        """
        with alone(self.store.folder):
            yield from self._attempts()

    def _attempts(self) -> Iterator[AttemptRecord]:
        planned = self._not_done()  # by whoever was at it until now
        configuration = self.configuration.model_copy(update={"ended_at": None, "ending": None})
        self.store.write_configuration(configuration)
        schedule = Schedule(
            run_id=configuration.run_id,
            jobs=configuration.jobs,
            retries=configuration.retries,
            max_cost_usd=configuration.max_cost_usd,
        )
        ending = RunEnding.INTERRUPTED
        try:
            with self.model.opened(self.agent, probe=False) as gateway:
                workshop = replace(self.workshop, gateway=gateway, breaker=self._breaker(gateway))
                made = run_attempts(planned, self.agent, workshop, self.store, schedule)
                yield from giving_back(made)
            if not self.workshop.cancel.is_set():
                ending = RunEnding.FINISHED
        finally:
            update = {"ended_at": datetime.now(UTC), "ending": ending}
            self.store.write_configuration(configuration.model_copy(update=update))

    def _not_done(self) -> tuple[Planned, ...]:
        retries = inf if self.retry_lost else self.configuration.retries
        return not_done(self.planned, self.store.read().records, retries=retries)

    def _breaker(self, gateway: ModelGateway | None) -> CircuitBreaker:
        longest = self.configuration.max_outage_s
        needs = needs_of(
            run=self.store.folder,
            cache=self.workshop.cache.folder,
            provider=self.workshop.provider,
            gateway=gateway,
            patience=None if longest is None else timedelta(seconds=longest),
        )
        return CircuitBreaker(needs, cancel=self.workshop.cancel, say=lambda line: self.say(line))

    def cancel(self) -> None:
        """Stop: what runs is cut off and recorded so, nothing new is started."""
        self.workshop.cancel.set()
