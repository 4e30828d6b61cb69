"""The side effects of a call: output, changed module variables, and reaching out of the process."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from types import ModuleType

from . import messages
from .foreign_code import text_of
from .outcomes import form_of

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_TRUNC
_MODULES = ("ftplib", "imaplib", "poplib", "pty", "shutil", "smtplib", "telnetlib", "urllib")
_EVENTS = frozenset([
    "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link",
    "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink",
    "os.system", "os.truncate", "os.utime", "signal.pthread_kill", "subprocess.Popen",
    "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname",
    "socket.sendmsg", "socket.sendto",
])  # fmt: skip
_PRINTED = 20_000  # bytes of a stream
_GLOBALS = 200  # of a module
_PLAIN_TYPES = (list, dict, set, bytearray, bool, int, float, str, bytes, type(None))


def discard_output() -> int:
    """Turn stdin, stdout and stderr away; returns a private descriptor of stdout."""
    own = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return own


def has_outside_effect(event: str, args: tuple[object, ...]) -> bool:
    """Whether an event of `sys.addaudithook` writes, sends or starts something."""
    if event == "open":
        path, _mode, flags = args
        return isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull
    return event in _EVENTS or event.partition(".")[0] in _MODULES


class BlockedError(BaseException):
    """A function tried to leave its process. It is not an Exception, so that few swallow it."""


class ProcessGuard:
    """Refuses to let code under test leave its process, and records the first attempt.

    A search runs a function hundreds of times on arbitrary inputs. The guard makes the answer
    clear; the sandbox around this process keeps the machine safe.
    """

    def __init__(self) -> None:
        self.blocked: str | None = None
        self._active = False

    def install(self) -> None:
        sys.addaudithook(self._check)
        self._active = True

    # Refuse again, in a fork of a process whose guard was suspended.
    def activate(self) -> None:
        self._active = True

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Let our own code through."""
        before, self._active = self._active, False
        try:
            yield
        finally:
            self._active = before

    def _check(self, event: str, args: tuple[object, ...]) -> None:
        if self._active and has_outside_effect(event, args):
            self.blocked = self.blocked or event
            raise BlockedError(event)


class EffectRecorder:
    """Records the effects of calls. Use one per process: an audit hook cannot be removed."""

    def __init__(self) -> None:
        """Install the hook; nothing is recorded outside of `recording`."""
        self._active = False
        self._reached = ""
        sys.addaudithook(self._check)

    @contextlib.contextmanager
    def recording(self, step: messages.Step) -> Iterator[None]:
        """Add the output and the first attempt to leave the process to a step."""
        out, err = _Stream(), _Stream()
        self._reached, self._active = "", True
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield
        finally:
            self._active = False
            if out.text():
                step["stdout"] = out.text()
            if err.text():
                step["stderr"] = err.text()
            if self._reached:
                step["reached"] = self._reached

    def _check(self, event: str, args: tuple[object, ...]) -> None:
        if self._active and not self._reached and has_outside_effect(event, args):
            self._reached = event


class _Stream(io.TextIOWrapper):
    """Keeps the first part of its text in memory."""

    def __init__(self) -> None:
        self._bytes = _BoundedBytes()
        super().__init__(self._bytes, "utf-8", errors="backslashreplace", write_through=True)  # type: ignore[arg-type] # typeshed wants a BinaryIO, a raw stream works

    def text(self) -> str:
        """The text, even if the code has closed the stream."""
        return self._bytes.content.decode("utf-8", "backslashreplace")


class _BoundedBytes(io.RawIOBase):
    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        """The stream can only be written."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override] # io hands it bytes
        """Keep the data up to the limit."""
        self.content += bytes(data)[: _PRINTED - len(self.content)]
        return len(data)


def module_variables(module: ModuleType | None) -> dict[str, messages.Variable]:
    """A module's public variables of plain types, by their full names."""
    if module is None:
        return {}
    public = [name for name in vars(module) if not name.startswith("_")][:_GLOBALS]
    values = {name: vars(module).get(name) for name in public}
    return {
        f"{module.__name__}.{name}": {"form": form_of(value), "text": text_of(value)}
        for name, value in values.items()
        if type(value) in _PLAIN_TYPES
    }
