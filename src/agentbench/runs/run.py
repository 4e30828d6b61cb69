"""A run that can start or continue: makes its attempts, and records its ending in run.json."""

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf

from agentbench.agents.interface import Agent
from agentbench.attempt.attempt import finish_timeline
from agentbench.attempt.executor_name import ExecutorName
from agentbench.attempt.outages import CircuitBreaker, requirements_of
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import RunResources
from agentbench.attempt.timeline.states import is_unfinished
from agentbench.core.display_text import printable
from agentbench.models.interface import ModelGateway
from agentbench.runs.executors import Executor, cluster_of
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.options import open_model
from agentbench.runs.plan import AttemptDurations, Plan, remaining_attempts
from agentbench.runs.scheduler import Capacity, Schedule, run_attempts
from agentbench.runs.store.configuration import RunConfiguration, RunEnding
from agentbench.runs.store.reading import RunRecords, read_run
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.runs.store.summaries import counts_as_failure


@dataclass(slots=True, kw_only=True)
class Run:
    """A run that can start or continue."""

    configuration: RunConfiguration
    store: RunStore
    planned: Plan
    agent: Agent
    resources: RunResources
    durations: AttemptDurations | None = None  # of earlier attempts; None: without the cache
    warnings: tuple[str, ...] = ()
    retry_lost: bool = False  # also attempts whose retries all failed
    say: Callable[[str], None] = lambda _line: None
    """Receives a line when attempts wait, for example for an unavailable engine."""
    failures: int = 0
    """The number of attempts since this start of the run that count for `--max-failures`."""

    def attempts(self) -> Generator[AttemptRecord]:
        """Make the attempts; yields the last record of each as soon as it is on disk.

        Closing the iterator before its end stops the run, and run.json says `interrupted`.

        Raises:
            StorageError: the run's disk has no space; running attempts are interrupted.
            OutageError: the engine, a disk or the model was unavailable for too long; likewise.
            UsageError: another process makes this run's attempts.
        """
        with run_lock(self.store.folder):
            retries = inf if self.retry_lost else self.configuration.retries
            # Another process may have made attempts between the plan and the lock.
            done = read_run(self.store.folder)
            planned = remaining_attempts(self.planned, done.summaries, retries=retries)
            configuration = self.configuration.replace(ended_at=None, ending=None)
            self.store.write_configuration(configuration)
            ending = RunEnding.INTERRUPTED
            try:
                self._finish_timelines(done)
                with open_model(configuration, self.agent, probe=False) as gateway:
                    tries = run_attempts(planned, self._executor(gateway), self._schedule())
                    with closing(tries) as records:
                        for record in records:
                            self.failures += counts_as_failure(record)
                            yield record
                if not self.resources.cancel.is_set():
                    ending = RunEnding.FINISHED
            finally:
                self.resources.background.finish()
                update = {"ended_at": datetime.now(UTC), "ending": ending}
                self.store.write_configuration(configuration.replace(**update))

    def _finish_timelines(self, done: RunRecords) -> None:
        """Go on with timelines whose judging was interrupted.

        One after the other: at most as many attempts as run in parallel were interrupted.
        """
        tasks = {task.id: task for task in self.planned.tasks}
        for number in done.latest():
            summary = done.summaries[number]
            folder, task = self.store.folder_of(summary), tasks.get(summary.task_id)
            # An attempt that was interrupted itself is repeated.
            if task is None or summary.was_interrupted or not is_unfinished(folder):
                continue
            if self.resources.cancel.is_set():
                break
            self.say(f"judging the timeline of {summary.folder_name}, which was interrupted")
            if not finish_timeline(task, self.resources, folder):
                self.say(f"{summary.folder_name}: its timeline stays incomplete")

    @property
    def has_reached_max_failures(self) -> bool:
        limit = self.configuration.max_failures
        return limit is not None and self.failures >= limit

    def _schedule(self) -> Schedule:
        settings, jobs = self.configuration, self.configuration.jobs
        if settings.executor is ExecutorName.LOCAL:
            capacity = Capacity.of_host(self.planned.tasks, jobs)
        else:
            # A cluster counts the slots of its nodes.
            capacity = Capacity(cpus=inf, memory_mib=inf)
        return Schedule(
            jobs=jobs,
            retries=settings.retries,
            capacity=capacity,
            cancel=self.resources.cancel,
            max_cost_usd=settings.max_cost_usd,
            max_failures=settings.max_failures,
            is_prepared=self.planned.knows,
            on_end=self.durations.note if self.durations is not None else lambda _record: None,
            on_retry=self._say_retry,
        )

    def _say_retry(self, record: AttemptRecord, seconds: float) -> None:
        number = f" attempt {record.attempt}" if record.attempt > 1 else ""
        detail = printable(record.detail, limit=160)
        when = f"in {seconds:.0f} s" if seconds >= 1 else "now"
        what = f"{record.task_id}{number}: {record.failure_reason}"
        self.say(f"{what}, tried again {when}: {detail}")

    def _executor(self, gateway: ModelGateway | None) -> Executor:
        configuration = self.configuration
        # The nodes of a cluster have caches and engines of their own, whose outages are theirs.
        is_local = configuration.executor is ExecutorName.LOCAL
        local = (self.resources.cache.folder, self.resources.provider) if is_local else None
        needs = requirements_of(self.store.folder, gateway, configuration.max_outage, local=local)
        # `self.say` is replaced when the display starts, so it is looked up at each call.
        breaker = CircuitBreaker(
            needs, cancel=self.resources.cancel, say=lambda line: self.say(line)
        )
        resources = replace(self.resources, gateway=gateway, breaker=breaker)
        if (cluster := cluster_of(configuration.executor)) is not None:
            return cluster.executor(configuration, self.agent, resources, self.store)
        # A single parallel attempt leaves processors for further containers.
        if min(configuration.jobs, len(self.planned)) > 1:
            resources = resources.sharing_containers()
        attempts = LocalAttempts(
            run_id=configuration.run_id, agent=self.agent, resources=resources, store=self.store
        )
        return LocalExecutor(attempts.make, jobs=configuration.jobs)

    def cancel(self) -> None:
        """Stop: running attempts are recorded as interrupted, and no other one starts."""
        self.resources.cancel.set()
