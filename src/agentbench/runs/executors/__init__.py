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
        """Begin one try and return at once; never more tries than slots."""

    def ended(self, *, within: float) -> Sequence[FinishedAttempt]:
        """The tries that have ended since the last call, in the order of their ends.

        Waits for one, but at most for some seconds.

        Raises:
            StorageError: the files of a try could not be written.
            OutageError: something that tries need was unavailable for too long.
        """
