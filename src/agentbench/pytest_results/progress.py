"""Tells how far a run is while it lasts: reads the stream that its reporter writes."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from threading import Event, Thread

from agentbench.errors import SandboxError
from agentbench.pytest_results import untrusted
from agentbench.pytest_results.packed import lines_of
from agentbench.pytest_results.retrieve import retrieve
from agentbench.sandbox.interface import Sandbox

_LOOK_EVERY = 0.2  # seconds
_SHARE = 20  # a look may take a twentieth of the time at most: a long stream is read anew each time


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many tests have ended, of those that are to run."""

    done: int
    collected: int


ProgressSink = Callable[[Progress], None]
"""Is handed every change, from a thread of its own."""


@contextmanager
def followed(sandbox: Sandbox, folder: PurePosixPath, tell: ProgressSink | None) -> Iterator[None]:
    """Follow the run that writes its reports into a folder, for as long as the block lasts."""
    if tell is None:
        yield
        return
    over = Event()
    follower = Thread(target=_follow, args=(sandbox, folder, tell, over), daemon=True)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()


def _follow(sandbox: Sandbox, folder: PurePosixPath, tell: ProgressSink, over: Event) -> None:
    tally = Tally()
    told: Progress | None = None
    pause = _LOOK_EVERY
    while not over.wait(pause):
        started = time.monotonic()
        try:
            tally.take(lines_of(retrieve(sandbox, folder).stream or ""))
        except SandboxError:
            return  # the run itself will tell
        if tally.progress.collected and tally.progress != told:
            told = tally.progress
            tell(told)
        pause = max(_LOOK_EVERY, _SHARE * (time.monotonic() - started))


class Tally:
    """Counts what a stream tells, however often more of it is there."""

    def __init__(self) -> None:
        self._read = 0  # lines
        self._collected: set[str] = set()
        self._done: set[str] = set()

    @property
    def progress(self) -> Progress:
        """As of the last look."""
        collected = max(len(self._collected), len(self._done))
        return Progress(done=len(self._done), collected=collected)

    def take(self, lines: Iterable[str]) -> None:
        """Read the whole lines that have come since the last look."""
        for line in islice(lines, self._read, None):
            if not line.endswith("\n"):
                break  # it is being written
            self._read += 1
            record = untrusted.json_object(line) or {}
            ids = record.get("ids")
            if record.get("kind") == "collected" and isinstance(ids, list):
                self._collected.update(map(untrusted.text, ids))
            elif record.get("kind") == "phase" and record.get("when") == "teardown":
                self._done.add(untrusted.text(record.get("id")))
