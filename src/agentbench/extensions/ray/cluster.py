"""`--executor ray`: the nodes of a Ray cluster as the machines that make attempts."""

from agentbench import __version__
from agentbench.agents.built_in import BUILT_IN_AGENTS
from agentbench.agents.interface import Agent
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.extensions.ray import ray_cluster
from agentbench.extensions.ray.remote_attempt import WorkerConfig
from agentbench.judge.submitted_change import JUDGE_AGENT
from agentbench.runs.executors import Executor, MakeAttempt
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.store import RunStore


class RayCluster:
    """The cluster of $RAY_ADDRESS, or of this machine."""

    def connect(self) -> int:
        """Join it as its driver; returns its number of slots."""
        return ray_cluster.connect()

    def executor(
        self,
        configuration: RunConfiguration,
        agent: Agent,
        resources: RunResources,
        store: RunStore,
    ) -> Executor:
        """An executor that sends each try to a free slot."""
        # By its name, a node makes a built-in agent for one task: the oracle has all solutions.
        sent = configuration.agent if configuration.agent in BUILT_IN_AGENTS else agent
        prices = configuration.prices.read_bytes() if configuration.prices else None
        worker = _worker(configuration, resources.settings, sent, prices)
        return ray_cluster.RayExecutor(worker, agent, resources, store)

    def attempt_maker(
        self, configuration: RunConfiguration, settings: RunSettings, store: RunStore
    ) -> MakeAttempt:
        """A function that makes single attempts; each brings its own agent."""
        worker = _worker(configuration, settings, JUDGE_AGENT, None)
        return ray_cluster.RayAttempts(worker=worker, store=store).make


def _worker(
    configuration: RunConfiguration,
    settings: RunSettings,
    agent: Agent | str,
    prices: bytes | None,
) -> WorkerConfig:
    return WorkerConfig(
        run_id=configuration.run_id,
        agentbench_version=__version__,
        agent=agent,
        sandbox=configuration.sandbox,
        settings=settings,
        prices=prices,
    )
