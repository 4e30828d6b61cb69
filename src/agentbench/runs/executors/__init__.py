"""Executors make attempts: in threads of this process, or on the nodes of a Ray cluster."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from agentbench.agents.interface import Agent
from agentbench.attempt.executor_name import ExecutorName
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.extensions import Slot, load_offer
from agentbench.runs.plan import PlannedAttempt
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.store import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAttempt:
    """One finished try at an attempt; its record is on disk."""

    planned: PlannedAttempt
    record: AttemptRecord


class Executor(AbstractContextManager["Executor"], Protocol):
    """Makes tries at attempts, several at a time; used by one thread.

    Leaving its context waits for the running tries; a cancelled run interrupts them first.
    """

    def start(self, planned: PlannedAttempt) -> None:
        """Begin one try and return at once; never more tries than slots."""

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        """The tries that have ended since the last call, in the order of their ends.

        Waits for one, but at most for some seconds.

        Raises:
            StorageError: the files of a try could not be written.
            OutageError: something that tries need was unavailable for too long.
        """


MakeAttempt = Callable[[PlannedAttempt, Agent, RunResources], AttemptRecord]
"""Makes one attempt with an agent and resources, and writes its record."""


class Cluster(Protocol):
    """Other machines that make attempts; an extension offers one."""

    def connect(self) -> int:
        """Join it; returns the number of attempts that it makes at a time.

        Raises:
            UsageError: its library is missing.
            UnavailableError: there is none, or none with slots.
        """

    def executor(
        self,
        configuration: RunConfiguration,
        agent: Agent,
        resources: RunResources,
        store: RunStore,
    ) -> Executor:
        """An executor for the attempts of a run."""

    def attempt_maker(
        self, configuration: RunConfiguration, settings: RunSettings, store: RunStore
    ) -> MakeAttempt:
        """A function that makes single attempts, each with its own agent, from several threads."""


def cluster_of(executor: ExecutorName) -> Cluster | None:
    """The machines of `--executor`; None: it is this machine.

    Raises:
        UsageError: the extension is missing.
    """
    if executor is ExecutorName.LOCAL:
        return None
    cluster: Cluster = load_offer(Slot.EXECUTOR, executor, f"--executor {executor}")
    return cluster
