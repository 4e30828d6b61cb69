"""Parks the sandboxes of sessions whose agents think, while the machine's memory is short.

Most sandboxes run nothing between two commands. In one that lasts, services and background
processes of the agent go on; frozen, they take no processor and no further memory.
"""

from collections.abc import Callable, Iterable
from threading import Event, Lock, Thread
from typing import Final, Protocol

from agentbench.core.host import is_memory_short

_POLL: Final = 1.0  # seconds between two looks at the memory
_IDLE: Final = 1.0  # seconds without a call before a sandbox is parked


class Parkable(Protocol):
    """A session."""

    def park(self, *, idle_seconds: float) -> None:
        """Freeze what runs in its sandbox until the next call, if there was none for so long."""


class Parking:
    """Looks at the memory in a thread, as long as there are sessions."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[Parkable]],
        is_short: Callable[[], bool] = is_memory_short,
        poll: float = _POLL,
    ) -> None:
        """Park some sessions; `sessions` gives the present ones."""
        self._sessions = sessions
        self._is_short = is_short
        self._poll = poll
        self._lock = Lock()
        self._closed = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to look at the memory, if that has not begun."""
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = Thread(target=self._watch, name="parking", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Park nothing more; what is parked goes on with its next call."""
        self._closed.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(self._poll):
            if self._is_short():
                for session in self._sessions():
                    session.park(idle_seconds=_IDLE)
