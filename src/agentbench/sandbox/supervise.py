"""Watches a child process to its end: its streams within a cap, its deadline, its cancellation.

Both back ends that start processes use it.

Both back ends that start processes of their own (bubblewrap, process) run commands through
`run_child`; what differs is how the tree is ended, which they pass in.
"""

import contextlib
import os
import resource
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import IO

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, Stream
from agentbench.scoring.evidence import CommandResult, Ending


class OutputCapture:
    """Is fed a stream and keeps at most `cap` bytes of it, half from each end."""

    def __init__(self, cap: int) -> None:
        self._head_cap = cap - cap // 2
        self._tail_cap = cap // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def truncated(self) -> bool:
        """Whether anything was cut."""
        return self.total > self._head_cap + self._tail_cap

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._head_cap - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_cap:  # not at every chunk: each cut moves the tail
            del self._tail[: len(self._tail) - self._tail_cap]

    def text(self) -> str:
        """What was kept, as text; bytes that are none become U+FFFD."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[len(self._tail) - self._tail_cap :]
        cut = self.total - len(self._head) - len(tail)
        note = f"\n[... {cut} bytes cut out here ...]\n"
        return self._head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")


def memory_file(content: bytes, keep: ExitStack) -> int:
    """A descriptor that reads as this content, once; closed when `keep` is."""
    descriptor = os.memfd_create("agentbench", os.MFD_CLOEXEC)
    keep.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def within_hard_limit(limit: int, wanted: int) -> int:
    """The value to set a limit to: what is wanted, or our own hard limit where that is lower.

    Nobody but root may raise a hard limit, and a child whose limits are refused does not start.
    """
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


_LOOK_EVERY = 0.1  # seconds between two looks at whether to stop
_DIES_WITHIN = 10.0  # seconds that the kernel gets to end a killed tree
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How a child ended and what it said."""

    exit_code: int  # 128 + n for death by signal n, as shells have it
    timed_out: bool
    stopped: bool
    duration: timedelta
    cpu_seconds: float
    stdout: OutputCapture
    stderr: OutputCapture

    def result(
        self, command: Command, *, out_of_memory: bool = False, peak_memory: int | None = None
    ) -> CommandResult:
        """The facts, with an ending: the deadline outranks lack of memory, that a signal."""
        number = self.exit_code - 128 if 128 < self.exit_code <= 128 + 64 else None
        ending = Ending.EXITED if number is None else Ending.KILLED
        if out_of_memory and self.exit_code != 0:
            ending = Ending.OUT_OF_MEMORY
        if self.timed_out:
            ending, number = Ending.TIMED_OUT, None
        return CommandResult(
            argv=command.argv,
            ending=ending,
            exit_code=None if self.timed_out else self.exit_code,
            signal=number,
            duration=self.duration,
            timeout=command.timeout if self.timed_out else None,
            stdout=self.stdout.text(),
            stderr=self.stderr.text(),
            truncated=self.stdout.truncated or self.stderr.truncated,
            output_bytes=self.stdout.total + self.stderr.total,
            peak_memory_bytes=peak_memory,
            cpu_seconds=self.cpu_seconds,
        )


def run_child(
    child: subprocess.Popen[bytes],
    command: Command,
    *,
    end: Callable[[], None],
    stop: Callable[[], bool],
) -> ChildResult:
    """Feed, read and time a child until it is dead and reaped.

    `end` kills the whole tree; it is called at the deadline, when `stop` says so, and when
    anything is raised in here (a sink, Ctrl-C), so that no process survives the call.

    Raises:
        SandboxError: the child did not die although it was killed.
    """
    watch = _Watch(child, command)
    try:
        watch.until_dead(end, stop)
    except BaseException:
        end()
        raise
    finally:
        watch.close()
    return watch.result()


class _Watch:
    """The state of one `run_child`."""

    def __init__(self, child: subprocess.Popen[bytes], command: Command) -> None:
        self._child = child
        self._command = command
        self._captures = {stream: OutputCapture(command.output_cap) for stream in Stream}
        self._input = memoryview(command.stdin)
        self._started = time.monotonic()
        self._deadline = self._started + command.timeout.total_seconds()
        self._timed_out = self._stopped = False
        self._selector = selectors.DefaultSelector()
        self._pidfd = os.pidfd_open(child.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ, self._died)
        self._dead = False
        for stream, pipe in self._outputs():
            self._register(pipe, selectors.EVENT_READ, partial(self._read, stream, pipe))
        self._register(child.stdin, selectors.EVENT_WRITE, self._write)

    def until_dead(self, end: Callable[[], None], stop: Callable[[], bool]) -> None:
        """Handle what comes until the child has died, then take what its pipes still hold."""
        killed = False
        while not self._dead:
            for key, _ in self._selector.select(min(_LOOK_EVERY, self._time_left())):
                key.data()
            if self._dead:
                break
            if killed and self._time_left() == 0.0:
                raise SandboxError(f"process {self._child.pid} was killed and does not die")
            self._timed_out = self._timed_out or (not killed and self._time_left() == 0.0)
            self._stopped = self._stopped or stop()
            if not killed and (self._timed_out or self._stopped):
                end()
                killed = True
                self._deadline = time.monotonic() + _DIES_WITHIN
        for stream, pipe in self._outputs():
            if pipe in self._selector.get_map():
                while self._read(stream, pipe):
                    pass

    def result(self) -> ChildResult:
        """Reap the child and sum up."""
        _, status, usage = os.wait4(self._child.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._child.returncode = code  # or Popen believes that it still runs
        return ChildResult(
            exit_code=code if code >= 0 else 128 - code,
            timed_out=self._timed_out,
            stopped=self._stopped,
            duration=timedelta(seconds=time.monotonic() - self._started),
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            stdout=self._captures[Stream.STDOUT],
            stderr=self._captures[Stream.STDERR],
        )

    def close(self) -> None:
        """Close the pipes and the descriptor that tells of the child's death."""
        self._selector.close()
        os.close(self._pidfd)
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _outputs(self) -> list[tuple[Stream, IO[bytes]]]:
        pipes = ((Stream.STDOUT, self._child.stdout), (Stream.STDERR, self._child.stderr))
        return [(stream, pipe) for stream, pipe in pipes if pipe is not None]

    def _register(self, pipe: IO[bytes] | None, event: int, handle: Callable[[], object]) -> None:
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event, handle)

    def _time_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _died(self) -> None:
        self._dead = True

    def _read(self, stream: Stream, pipe: IO[bytes]) -> bool:
        try:
            chunk = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._selector.unregister(pipe)
            return False
        self._captures[stream].feed(chunk)
        if self._command.sink is not None:
            self._command.sink(stream, chunk)
        return True

    def _write(self) -> None:
        pipe = self._child.stdin
        assert pipe is not None  # only a pipe is registered with this handler
        try:
            self._input = self._input[os.write(pipe.fileno(), self._input[:_CHUNK]) :]
        except BrokenPipeError:
            self._input = self._input[:0]
        except BlockingIOError:
            return
        if not self._input:
            self._selector.unregister(pipe)
            pipe.close()
