"""Attempts start while the machine has memory for them; how many may run is set elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Event

from agentbench.runs.host import available_memory_mib
from agentbench.tasks.task import Task

_LOOK_EVERY = 1.0  # seconds; memory that becomes free announces itself to nobody


class Admission:
    """Lets attempts in, each with the memory that its sandbox may use. Safe for several threads.

    A limit is no promise that so much is used, so an attempt that would be the only one is let in
    on whatever machine.
    """

    def __init__(
        self, cancel: Event, available: Callable[[], int | None] = available_memory_mib
    ) -> None:
        self._cancel = cancel
        self._available = available
        self._inside = 0
        self._changed = Condition()

    @contextmanager
    def admitted(self, task: Task) -> Iterator[None]:
        """Wait until there is memory for an attempt at a task, or the run is cancelled."""
        with self._changed:
            while not (self._fits(task) or self._cancel.is_set()):
                self._changed.wait(_LOOK_EVERY)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def _fits(self, task: Task) -> bool:
        available = self._available()
        enough = available is None or available >= task.environment.memory_mib
        return enough or self._inside == 0
