"""What a scheduler needs of whatever makes its attempts."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One try at an attempt that is over, its record on disk."""

    planned: Planned
    record: AttemptRecord


class Executor(AbstractContextManager["Executor"], Protocol):
    """Makes tries at attempts, several at a time; used by one thread.

    Leaving its context waits for what is under way, which a cancelled run cuts off first.
    """

    def start(self, planned: Planned) -> None:
        """Begin one try; returns at once. No more are begun than there are slots."""

    def ended(self, *, within: float) -> Sequence[Ended]:
        """The tries that have ended since the last call, in the order that they ended in.

        Waits for one, but no longer than so many seconds.

        Raises:
            StorageError: what a try leaves could not be written.
            OutageError: what tries need was away for too long.
        """
