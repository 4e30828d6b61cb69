"""What a function that is searched must not do: leave its process.

A search runs a function hundreds of times on inputs nobody chose. What it would write, send or
start is refused and remembered, so that the answer names it. This wall is for clear answers: what
keeps the machine safe is the sandbox around this process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_TRUNC
_GROUPS = ("ftplib", "imaplib", "poplib", "pty", "shutil", "smtplib", "telnetlib", "urllib")
_EVENTS = frozenset(
    {
        *("os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg"),
        *("os.link", "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir"),
        *("os.spawn", "os.symlink", "os.system", "os.truncate", "os.utime"),
        *("signal.pthread_kill", "subprocess.Popen"),
        *("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname"),
        *("socket.sendmsg", "socket.sendto"),
    }
)


class BlockedError(BaseException):
    """A function tried to leave its process; not an Exception, so that few swallow it."""


class Wall:
    """Refuses from when it is raised; what was refused first is kept."""

    def __init__(self) -> None:
        self.blocked: str | None = None
        self._up = False

    def raise_it(self) -> None:
        """Refuse from now on."""
        sys.addaudithook(self._look)
        self.up()

    def up(self) -> None:
        """Refuse again: in a fork of a process in which it was lowered."""
        self._up = True

    @contextmanager
    def lowered(self) -> Iterator[None]:
        """Let our own work through."""
        before, self._up = self._up, False
        try:
            yield
        finally:
            self._up = before

    def _look(self, event: str, args: tuple[object, ...]) -> None:
        if not self._up or not leaves_process(event, args):
            return
        self.blocked = self.blocked or event
        raise BlockedError(event)


def leaves_process(event: str, args: tuple[object, ...]) -> bool:
    """Whether an event of `sys.addaudithook` writes, sends or starts something."""
    if event == "open":
        path, _mode, flags = args
        return isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull
    return event in _EVENTS or event.partition(".")[0] in _GROUPS
