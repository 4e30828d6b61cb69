"""The text that an agent in Python prints: it goes to the log of its stage."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TextIO

from agentbench.sandbox.interface import Stream

PrintSink = Callable[[Stream, str], None]
"""Receives whole lines, and the rest at the end."""


@contextmanager
def printed_to(sink: PrintSink) -> Iterator[None]:
    """Send what the block prints to a sink, while other threads go on printing as before.

    A thread that the block starts itself prints like the others.
    """
    printed = _PrintedText(sink)
    with _installed():
        token = _printed.set(printed)
        try:
            yield
        finally:
            _printed.reset(token)
            printed.end()


class _PrintedText:
    """The text that one agent prints."""

    def __init__(self, sink: PrintSink) -> None:
        self._sink = sink
        self._rest = dict.fromkeys(Stream, "")
        self._lock = Lock()  # an agent's tasks of asyncio may print from several threads

    # Pass on the lines that are complete now: a secret must not be cut in two.
    def add(self, stream: Stream, text: str) -> None:
        with self._lock:
            lines, newline, rest = (self._rest[stream] + text).rpartition("\n")
            self._rest[stream] = rest
            if newline:
                self._sink(stream, f"{lines}\n")

    def end(self) -> None:
        for stream, rest in self._rest.items():
            if rest:
                self._sink(stream, rest)


_printed: ContextVar[_PrintedText | None] = ContextVar("agentbench_printed", default=None)
_install_lock = Lock()
_blocks = 0


class _Router:
    """stdout or stderr, except for the text of agents.

    It has no base class of `io`, since those close themselves, and so the stream, in the end.
    """

    def __init__(self, stream: Stream, other: TextIO) -> None:
        self._stream = stream
        self.other = other

    def write(self, text: str, /) -> int:
        printed = _printed.get()
        if printed is None:
            return self.other.write(text)
        printed.add(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.other, name)


@contextmanager
def _installed() -> Iterator[None]:
    global _blocks
    with _install_lock:
        _blocks += 1
        for stream in Stream:
            current = getattr(sys, stream)
            if not isinstance(current, _Router):  # the live display may have replaced it meanwhile
                setattr(sys, stream, _Router(stream, current))
    try:
        yield
    finally:
        with _install_lock:
            _blocks -= 1
            for stream in Stream:
                current = getattr(sys, stream)
                if not _blocks and isinstance(current, _Router):
                    setattr(sys, stream, current.other)
