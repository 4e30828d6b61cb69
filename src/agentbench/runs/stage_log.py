"""A stage's log: its output as it came, each chunk with its time, head and tail kept."""

import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType

from agentbench.sandbox.interface import Stream

CAP = 10 * 1024 * 1024
"""Bytes kept of a log: half from the head, half from the tail."""

# Also the marks that turn or hide text.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


class StageLog:
    """Writes the head of the output at once, and the tail, bounded in memory, at the end.

    Control characters are made visible, so that showing the log cannot steer a terminal.
    """

    def __init__(
        self, path: Path, *, cap: int = CAP, clock: Callable[[], float] = time.monotonic
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb", buffering=0)  # whoever follows a run reads it as it grows
        self._half = cap // 2
        self._clock = clock
        self._started = clock()
        self._written = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._cut = 0
        self._lock = Lock()  # an agent may run several commands at a time

    def __enter__(self) -> "StageLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            if self._cut:
                self._put(b"\n[... %d bytes left out ...]\n" % self._cut)
            for line in self._tail:
                self._put(line)
            self._file.close()

    def write(self, stream: Stream, chunk: bytes) -> None:
        """Take one chunk of output; an `OutputSink`."""
        elapsed = self._clock() - self._started
        head = f"[{elapsed:9.3f} {stream.value}] ".encode()
        # Bytes that are no text, such as C1 by itself, become visible with the decoding.
        text = _CONTROL.sub(_visible, chunk.decode("utf-8", "backslashreplace")).encode()
        line = head + text + (b"" if text.endswith(b"\n") else b"\n")
        with self._lock:
            if not self._file.closed:  # by then it is a stray thread of an agent given up
                self._keep(line)

    def _keep(self, line: bytes) -> None:
        room = self._half - self._written
        self._put(line[:room])
        self._written += len(line[:room])
        rest = line[room:]
        if not rest:
            return
        self._tail.append(rest[-self._half :])
        self._tail_bytes += len(self._tail[-1])
        self._cut += len(rest) - len(self._tail[-1])
        while self._tail_bytes > self._half and len(self._tail) > 1:
            gone = self._tail.popleft()
            self._tail_bytes -= len(gone)
            self._cut += len(gone)

    def _put(self, data: bytes) -> None:
        # On a full disk the record cannot be kept either, and that says so; raised from here, in
        # the middle of a command, it would look like a failure of the sandbox.
        with suppress(OSError):
            self._file.write(data)


def _visible(found: re.Match[str]) -> str:
    number = ord(found.group())
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
