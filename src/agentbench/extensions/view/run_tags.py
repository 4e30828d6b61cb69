"""The tags of behaviour of a run's attempts, without the extension that knows what they mean."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from agentbench.audit.run_facts import RunFolder
from agentbench.core.extensions import Slot, load_offer, offers
from agentbench.core.host import usable_cache_dir
from agentbench.errors import AgentbenchError
from agentbench.runs.store.reading import RunRecords
from agentbench.runs.store.store import RunStore
from agentbench.tasks.mirror import Mirrors


def has_tags() -> bool:
    """Whether an extension knows the tags of attempts."""
    return "tags" in offers(Slot.BEHAVIOUR)


class RunTags:
    """The tags of one run's attempts, each read once. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """A run of which no attempt has been read."""
        self._folder = folder
        self._lock = Lock()
        self._read: dict[int, Any] = {}  # by the number of the record; None: it cannot be read
        self._tags_of: Callable[[Any], Any] | None = None

    def unread(self, numbers: Sequence[int]) -> list[int]:
        """The numbers of records whose tags are not known yet."""
        return [number for number in numbers if number not in self._read]

    def read(self, reading: RunRecords, numbers: Sequence[int], *, most: int) -> int:
        """Read the tags of more attempts, some 25 ms each.

        Args:
            reading: The run's records.
            numbers: The numbers of the wanted ones.
            most: The most attempts to read.

        Returns:
            How many were read.
        """
        with self._lock:
            batch = self.unread(numbers)[:most]
            for number in batch:
                try:
                    (record,) = reading.records([number])
                    self._read[number] = self._reader()(record)
                except (AgentbenchError, OSError):
                    self._read[number] = None
            if not self.unread(numbers):
                self._tags_of = None  # it remembers the tasks
            return len(batch)

    def of(self, numbers: Sequence[int]) -> list[Any]:
        """The tags of attempts, of those that can be read."""
        found = (self._read.get(number) for number in numbers)
        return [tags for tags in found if tags is not None]

    def _reader(self) -> Callable[[Any], Any]:
        if self._tags_of is None:
            configuration = RunStore(self._folder).configuration()
            run = RunFolder(folder=self._folder, configuration=configuration)
            load = load_offer(Slot.BEHAVIOUR, "tags", "the table of behaviour")
            self._tags_of = load(run, Mirrors(usable_cache_dir() / "mirrors"))
        assert self._tags_of is not None
        return self._tags_of


def count_tags(runs: Sequence[Sequence[Any]]) -> list[Any]:
    """The tags of runs with their counts in each run."""
    counted = load_offer(Slot.BEHAVIOUR, "table", "the table of behaviour")(runs)
    return list(counted)


def compare_tags(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """The tags of two runs with their differences; needs scipy."""
    compared = load_offer(Slot.BEHAVIOUR, "comparison", "the comparison of behaviour")
    return list(compared(first, second))
