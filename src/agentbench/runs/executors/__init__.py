"""Executors make attempts: in threads of this process, or on the nodes of a Ray cluster."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from agentbench.attempt.record import AttemptRecord
from agentbench.runs.plan import PlannedAttempt


class FinishedAttempt(Struct, frozen=True, kw_only=True):
    """One finished try at an attempt; its record is on disk."""

    planned: PlannedAttempt
    record: AttemptRecord


class Executor(AbstractContextManager["Executor"], Protocol):
    """Makes tries at attempts, several at a time; used by one thread.

    Leaving its context waits for the running tries; a cancelled run interrupts them first.
    """

    def start(self, planned: PlannedAttempt) -> None:
        """Begin one try; returns at once. No more are begun than there are slots."""

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        """The tries that have ended since the last call, in the order that they ended in.

        Waits for one, but no longer than so many seconds.

        Raises:
            StorageError: the files of a try could not be written.
            OutageError: something that tries need was away for too long.
        """
