"""Who is at what: the attempts of a run that are under way, for whoever shows them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from agentbench.scoring.evidence import StageName
from agentbench.tasks.problem import TaskId


@dataclass(slots=True, kw_only=True)
class Entry:
    """One attempt under way; one thread writes it, others read."""

    task_id: TaskId
    attempt: int
    retry_of: int | None = None
    began: float = 0.0  # by the board's clock, in seconds
    where: str | None = None  # the node that it is on, if it is not on this machine
    stage: StageName | None = None  # None: it waits to begin
    spent_usd: Callable[[], float | None] | None = None  # where it has a model; None: not priced

    def at(self, stage: StageName) -> None:
        """A stage has begun."""
        self.stage = stage


@dataclass(slots=True, kw_only=True)
class Board:
    """The attempts under way; safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _entries: dict[int, Entry] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, task_id: TaskId, attempt: int, *, retry_of: int | None = None) -> Entry:
        """Put an attempt on the board; whoever began it takes it down."""
        entry = Entry(task_id=task_id, attempt=attempt, retry_of=retry_of, began=self.clock())
        with self._lock:
            self._entries[id(entry)] = entry
        return entry

    def end(self, entry: Entry) -> None:
        """Take an attempt down; once is enough."""
        with self._lock:
            self._entries.pop(id(entry), None)

    @contextmanager
    def entry(
        self, task_id: TaskId, attempt: int, *, retry_of: int | None = None
    ) -> Iterator[Entry]:
        """An attempt that is on the board for as long as the block lasts."""
        entry = self.begin(task_id, attempt, retry_of=retry_of)
        try:
            yield entry
        finally:
            self.end(entry)

    def under_way(self) -> tuple[Entry, ...]:
        """The attempts under way, the first that began first."""
        with self._lock:
            return tuple(self._entries.values())
