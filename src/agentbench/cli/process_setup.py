"""The exit codes of the program, its handling of signals and pipes, and its limit of open files."""

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_STDOUT, _STDERR = 1, 2
_ESCAPE = "agentbench.escape"


class ExitCode(IntEnum):
    """The exit codes of the program; each has one meaning."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INPUT = 65
    UNAVAILABLE = 69
    BUG = 70
    INFRASTRUCTURE = 75
    INTERRUPTED = 130
    CLOSED_PIPE = 141


EXIT_CODE_MEANINGS: Mapping[ExitCode, str] = MappingProxyType(
    {
        ExitCode.OK: "done, whatever the agents scored",
        ExitCode.CHECK_FAILED: "a check that you requested failed",
        ExitCode.USAGE: "wrong usage",
        ExitCode.INPUT: "a task, run or import file is wrong",
        ExitCode.UNAVAILABLE: "the sandbox or engine is not available",
        ExitCode.BUG: "a bug in agentbench",
        ExitCode.INFRASTRUCTURE: "some attempt ended in an infrastructure failure",
        ExitCode.INTERRUPTED: "interrupted",
        ExitCode.CLOSED_PIPE: "the reader of a pipe ended first",
    }
)


def guard_output() -> None:
    """Have writes to stdout and stderr end the program when nobody can receive them.

    Characters that an encoding lacks are written as in JSON, so that documents stay valid.
    """

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4)), error.end

    codecs.register_error(_ESCAPE, escaped)
    sys.stdout = _guarded(sys.stdout)
    sys.stderr = _guarded(sys.stderr)


class _GuardedFile(io.FileIO):
    # Errors of other descriptors, such as broken pipes of sockets, still raise: they are bugs.

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            # SystemExit ends only its own thread, so the main thread's next write ends the program.
            if threading.current_thread() is not threading.main_thread():
                return memoryview(data).nbytes
            # As a shell sees a program that SIGPIPE ended, for instance in `… | head -1`.
            if isinstance(error, BrokenPipeError):
                raise SystemExit(ExitCode.CLOSED_PIPE) from None
            if self.fileno() == _STDOUT:
                sys.stderr.write(
                    f"agentbench: stdout: cannot be written ({error.strerror}); write to another "
                    "file\n"
                )
            raise SystemExit(ExitCode.USAGE) from None


def _guarded(stream: TextIO) -> TextIO:
    """The same stream over a guarded descriptor; one that is not a file stays as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return stream
    stream.flush()
    pipe = _GuardedFile(descriptor, "w", closefd=False)
    is_buffered = isinstance(stream.buffer, io.BufferedWriter)  # not with PYTHONUNBUFFERED
    return io.TextIOWrapper(
        io.BufferedWriter(pipe) if is_buffered else pipe,
        encoding=stream.encoding,
        errors=_ESCAPE if stream.errors in {"strict", "surrogateescape"} else stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


@contextmanager
def stdout_for_results() -> Iterator[None]:
    """Send to stderr what threads and child processes of agents write to stdout in the block."""
    # An agent in Python that prints broke the document of --json.
    sys.stdout.flush()
    try:
        kept = os.dup(_STDOUT)
        os.dup2(_STDERR, _STDOUT)
    except OSError:  # one of them is closed
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, _STDOUT)
        os.close(kept)


@contextmanager
def handling_signals(handler: Callable[[int], None]) -> Iterator[None]:
    """Call a handler on Ctrl-C and SIGTERM during the block."""
    before = {
        number: signal.signal(number, lambda number, _frame: handler(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def raise_keyboard_interrupt_on_signals() -> None:
    """Have Ctrl-C and SIGTERM raise KeyboardInterrupt, or cancel the running event loop."""
    # A shell that starts a program in the background has it ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))


def raise_open_files_limit() -> None:
    """Raise the soft limit to the hard one: each attempt holds pipes, sockets and logs open."""
    # The soft limit is 1,024 nearly everywhere, for programs that use `select`; ours do not.
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS calls its hard limit infinite, and refuses that.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
