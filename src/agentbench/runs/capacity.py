"""The cores and memory of this machine for attempts, and how much of them is free."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from agentbench.core.host import available_cpus, available_memory_mib
from agentbench.tasks.task import Task, TaskEnvironment

_ATTEMPTS_PER_CORE = 2
"""Measured on two cores: four attempts at a time halve the time of one, eight gain nothing."""


def cores_for_attempts() -> int:
    """The cores that attempts may declare in all, since each of them waits much of its time."""
    return _ATTEMPTS_PER_CORE * available_cpus()


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeCapacity:
    """The cores and memory that are free now."""

    cpus: float
    memory_mib: float
    is_all: bool  # nothing runs

    def holds(self, task: Task) -> bool:
        """Whether an attempt at a task may start; the only one may on whatever machine."""
        needs = task.environment
        return self.is_all or (needs.cpus <= self.cpus and needs.memory_mib <= self.memory_mib)


class Capacity:
    """Cores and memory, minus those that the tasks of running attempts declare. For one thread.

    A limit is no promise that so much is used: what is declared is counted, and beside that the
    memory must be free when an attempt starts, whoever else uses the machine.
    """

    def __init__(
        self,
        *,
        cpus: float,
        memory_mib: float,
        available: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Count against these amounts; `available` says what memory is free now, if it can."""
        self._cpus = cpus
        self._memory_mib = memory_mib
        self._available = available
        self._running = 0

    @classmethod
    def of_host(
        cls,
        tasks: Sequence[Task],
        jobs: int,
        available: Callable[[], int | None] = available_memory_mib,
    ) -> Self:
        """This machine's; never less than the smallest of the tasks takes `jobs` times."""
        free = available()
        smallest = smallest_needs(tasks)
        return cls(
            cpus=max(cores_for_attempts(), jobs * smallest.cpus),
            memory_mib=max(free or float("inf"), jobs * smallest.memory_mib),
            available=available,
        )

    def room(self) -> FreeCapacity:
        """The cores and memory that are free now."""
        available = self._available() if self._running else None
        return FreeCapacity(
            cpus=self._cpus,
            memory_mib=self._memory_mib if available is None else min(self._memory_mib, available),
            is_all=not self._running,
        )

    def take(self, task: Task) -> None:
        """An attempt at a task starts."""
        self._running += 1
        self._cpus -= task.environment.cpus
        self._memory_mib -= task.environment.memory_mib

    def give_back(self, task: Task) -> None:
        """It has ended."""
        self._running -= 1
        self._cpus += task.environment.cpus
        self._memory_mib += task.environment.memory_mib


def fitting_jobs(tasks: Sequence[Task]) -> int:
    """How many attempts at a time fit this machine, were all like the smallest of them."""
    smallest = smallest_needs(tasks)
    by_cores = cores_for_attempts() / smallest.cpus
    memory = available_memory_mib()
    by_memory = memory / smallest.memory_mib if memory is not None else by_cores
    return max(1, int(min(by_cores, by_memory)))


def smallest_needs(tasks: Sequence[Task]) -> TaskEnvironment:
    """The least of each that any task declares; the usual where there is none."""
    usual = TaskEnvironment()
    return TaskEnvironment(
        cpus=min((task.environment.cpus for task in tasks), default=usual.cpus),
        memory_mib=min((task.environment.memory_mib for task in tasks), default=usual.memory_mib),
    )
