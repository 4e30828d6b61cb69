"""Makes a judge's attempts on this machine, or on the nodes of a cluster."""

from math import inf

from agentbench.agents.interface import Agent
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.runs.executors import MakeAttempt, cluster_of
from agentbench.runs.executors.local import LocalAttempts
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.scheduler import Capacity, cores_for_attempts
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.store import RunStore
from agentbench.tasks.task import TaskEnvironment


def attempt_maker(
    configuration: RunConfiguration, settings: RunSettings, store: RunStore
) -> MakeAttempt:
    """A function that makes the attempts of a run; safe to use from several threads."""
    if (cluster := cluster_of(configuration.executor)) is not None:
        return cluster.attempt_maker(configuration, settings, store)

    def make(planned: PlannedAttempt, agent: Agent, resources: RunResources) -> AttemptRecord:
        run_id = configuration.run_id
        attempts = LocalAttempts(run_id=run_id, agent=agent, resources=resources, store=store)
        return attempts.make(planned)

    return make


def capacity_for(jobs: int, *, elsewhere: bool) -> Capacity:
    """This machine's capacity, but at least that of so many usual tasks."""
    # The nodes of a cluster count their own slots.
    if elsewhere:
        return Capacity(cpus=inf, memory_mib=inf)
    host, usual = Capacity.of_host((), jobs), TaskEnvironment()
    return Capacity(
        cpus=max(cores_for_attempts(), jobs * usual.cpus),
        memory_mib=host.memory_mib,
        available=host.available,
    )
