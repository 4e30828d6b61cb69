"""Attempts in threads of this process: what they wait for are other processes."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from agentbench.runs.executors.interface import Ended
from agentbench.runs.plan import Planned
from agentbench.runs.record import AttemptRecord


class LocalExecutor:
    """Makes each try in a thread of a pool."""

    def __init__(self, make: Callable[[Planned], AttemptRecord], *, jobs: int) -> None:
        """Make tries with a function, which leaves their records on disk."""
        self._make = make
        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="attempt")
        self._over: SimpleQueue[Future[Ended]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(wait=True)

    def start(self, planned: Planned) -> None:
        """Begin one try in a free thread."""
        self._pool.submit(self._one, planned).add_done_callback(self._over.put)

    def ended(self, *, within: float) -> Sequence[Ended]:
        """The tries that have ended since; an exception of one is raised here."""
        try:
            over = [self._over.get(timeout=within)]
        except Empty:
            return ()
        while not self._over.empty():
            over.append(self._over.get_nowait())
        return [future.result() for future in over]

    def _one(self, planned: Planned) -> Ended:
        return Ended(planned=planned, record=self._make(planned))
