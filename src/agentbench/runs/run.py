"""A run that is ready to go, or to go on: its attempts are made, and run.json says how it ended."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf

from agentbench import __version__
from agentbench.agents.interface import Agent
from agentbench.agents.registry import BUILT_IN
from agentbench.attempt.outages import CircuitBreaker, requirements_of, requirements_of_driver
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import RunResources
from agentbench.core.choices import ExecutorName
from agentbench.core.gc_tuning import restore
from agentbench.models.interface import ModelGateway
from agentbench.runs.capacity import Capacity, trimming_memory
from agentbench.runs.executors.interface import Executor
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.executors.remote_attempt import WorkerConfig, WorkerModel
from agentbench.runs.model_settings import ModelSettings
from agentbench.runs.plan import AttemptDurations, Plan, remaining_attempts
from agentbench.runs.scheduler import Schedule, run_attempts
from agentbench.runs.store.configuration import RunConfiguration, RunEnding
from agentbench.runs.store.store import RunStore, run_lock


@dataclass(slots=True, kw_only=True)
class Run:
    """A run that is ready to go, or to go on."""

    configuration: RunConfiguration
    store: RunStore
    planned: Plan
    agent: Agent
    workshop: RunResources
    model: ModelSettings = field(default_factory=ModelSettings)
    durations: AttemptDurations | None = None  # of earlier attempts; None: none are kept
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
        with run_lock(self.store.folder):
            yield from self._attempts()

    def _attempts(self) -> Iterator[AttemptRecord]:
        planned = self._not_done()  # by whoever was at it until now
        configuration = self.configuration.model_copy(update={"ended_at": None, "ending": None})
        self.store.write_configuration(configuration)
        ending = RunEnding.INTERRUPTED
        restore()
        try:
            with self.model.opened(self.agent, probe=False) as gateway:
                made = run_attempts(planned, self._executor(gateway), self._schedule())
                yield from trimming_memory(made)
            if not self.workshop.cancel.is_set():
                ending = RunEnding.FINISHED
        finally:
            self.workshop.aside.finish()
            update = {"ended_at": datetime.now(UTC), "ending": ending}
            self.store.write_configuration(configuration.model_copy(update=update))

    def _not_done(self) -> Plan:
        retries = inf if self.retry_lost else self.configuration.retries
        return remaining_attempts(self.planned, self.store.reading().headlines, retries=retries)

    def _schedule(self) -> Schedule:
        jobs = self.configuration.jobs
        return Schedule(
            jobs=jobs,
            retries=self.configuration.retries,
            capacity=self._capacity(jobs),
            cancel=self.workshop.cancel,
            max_cost_usd=self.configuration.max_cost_usd,
            is_prepared=self.planned.knows,
            on_end=self.durations.note if self.durations is not None else _nothing,
        )

    def _capacity(self, jobs: int) -> Capacity:
        if self.configuration.executor is ExecutorName.LOCAL:
            return Capacity.of_host(self.planned.tasks, jobs)
        return Capacity(cpus=inf, memory_mib=inf)  # the cluster knows what its nodes have

    def _orders(self) -> WorkerConfig:
        configuration, workshop = self.configuration, self.workshop
        command = configuration.agent_command
        by_name = configuration.agent in BUILT_IN
        return WorkerConfig(
            run_id=configuration.run_id,
            agentbench_version=__version__,
            agent=configuration.agent if by_name else self.agent,
            agent_command=command,
            model=WorkerModel.of(self.model),
            sandbox=configuration.sandbox,
            use_cache=workshop.use_cache,
            registry=configuration.registry,
            timeout_scale=workshop.timeout_scale,
            integrity_controls=workshop.control_level,
            attempt_timeout=workshop.attempt_timeout,
        )

    def _executor(self, gateway: ModelGateway | None) -> Executor:
        workshop = replace(self.workshop, gateway=gateway, breaker=self._breaker(gateway))
        if self.configuration.executor is ExecutorName.RAY:
            from agentbench.runs.executors.ray_cluster import RayExecutor

            return RayExecutor(self._orders(), self.agent, workshop, self.store)
        tries = LocalAttempts(
            run_id=self.configuration.run_id,
            agent=self.agent,
            workshop=workshop,
            store=self.store,
        )
        return LocalExecutor(tries.make, jobs=self.configuration.jobs)

    def _breaker(self, gateway: ModelGateway | None) -> CircuitBreaker:
        longest = self.configuration.max_outage_s
        patience = None if longest is None else timedelta(seconds=longest)
        if self.configuration.executor is ExecutorName.LOCAL:
            needs = requirements_of(
                run=self.store.folder,
                cache=self.workshop.cache.folder,
                provider=self.workshop.provider,
                gateway=gateway,
                patience=patience,
            )
        else:
            needs = requirements_of_driver(self.store.folder, gateway, patience)
        return CircuitBreaker(needs, cancel=self.workshop.cancel, say=lambda line: self.say(line))

    def cancel(self) -> None:
        """Stop: what runs is cut off and recorded so, nothing new is started."""
        self.workshop.cancel.set()


def _nothing(_record: AttemptRecord) -> None:
    pass
