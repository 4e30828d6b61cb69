"""The turns in which the attempts at a task are judged in this process.

A sealed run needs an exclusive turn; final tests of code that gave the right values share one. A
sealed run uses only one processor, so waiting sealed runs come first until enough final tests wait
to use all processors. File locks keep the same order between processes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from msgspec import Struct

from agentbench.core.host import available_cpus

_POLL = 0.1  # seconds between two checks whether to continue waiting


class _Attempts(Struct):
    """How many attempts at one task wait, or have their turn."""

    alone_waiting: int = 0
    alone: int = 0
    sharing_waiting: int = 0
    sharing: int = 0


class Turns:
    """The turns at all tasks of a run. Safe to use from several threads."""

    def __init__(self, *, at_a_time: int | None = None) -> None:
        """Start without attempts.

        Args:
            at_a_time: How many waiting final tests precede a waiting sealed run; None: one per
                processor.
        """
        self._changed = Condition()
        self._tasks: dict[str, _Attempts] = {}
        self._at_a_time = at_a_time or available_cpus()

    @contextmanager
    def alone(self, task: str, wait: Callable[[float], None]) -> Iterator[None]:
        """Hold an exclusive turn at the task in this process during the block.

        Args:
            task: The task, by any name.
            wait: Called while waiting, with the seconds to wait; an exception ends the wait.
        """
        with self._changed:
            attempts = self._tasks.setdefault(task, _Attempts())
            attempts.alone_waiting += 1
            try:
                while (
                    attempts.alone
                    or attempts.sharing
                    or attempts.sharing_waiting >= self._at_a_time
                ):
                    self._wait(wait)
                attempts.alone += 1
            finally:
                attempts.alone_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                attempts.alone -= 1
                self._changed.notify_all()

    @contextmanager
    def sharing(self, task: str, wait: Callable[[float], None]) -> Iterator[None]:
        """Hold a turn during the block that other `sharing` attempts may have, too; see `alone`."""
        with self._changed:
            attempts = self._tasks.setdefault(task, _Attempts())
            attempts.sharing_waiting += 1
            try:
                while attempts.alone or (
                    attempts.alone_waiting
                    and not attempts.sharing
                    and attempts.sharing_waiting < self._at_a_time
                ):
                    self._wait(wait)
                attempts.sharing += 1
            finally:
                attempts.sharing_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                attempts.sharing -= 1
                self._changed.notify_all()

    def _wait(self, wait: Callable[[float], None]) -> None:
        self._changed.wait(_POLL)
        wait(_POLL)
