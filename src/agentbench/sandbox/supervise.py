"""Runs a child process until its end: captures its output, and ends it at its deadline.

The bubblewrap and process back ends run commands by `run_child`, and pass in how to kill the tree.
"""

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import IO

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, Stream
from agentbench.scoring.evidence import CommandResult, Ending

_CHECK_EVERY = 0.1  # seconds between two calls of `stop`
_DIES_WITHIN = 10.0  # seconds that the kernel gets to end a killed tree
_CHUNK = 1 << 16


class OutputCapture:
    """Captures at most `cap` bytes of a stream, half from each end."""

    def __init__(self, cap: int) -> None:
        self._head_cap = cap - cap // 2
        self._tail_cap = cap // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def truncated(self) -> bool:
        """Whether a part was omitted."""
        return self.total > self._head_cap + self._tail_cap

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        missing = self._head_cap - len(self._head)
        self._head += data[:missing]
        self._tail += data[missing:]
        if len(self._tail) > 2 * self._tail_cap:  # done rarely, since each cut moves the tail
            del self._tail[: len(self._tail) - self._tail_cap]

    def text(self) -> str:
        """The captured bytes as text; invalid bytes become U+FFFD."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[len(self._tail) - self._tail_cap :]
        cut = self.total - len(self._head) - len(tail)
        note = f"\n[... {cut} bytes cut out here ...]\n"
        return self._head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")


def memory_file(content: bytes, stack: ExitStack) -> int:
    """A descriptor from which this content can be read once; the stack closes it."""
    descriptor = os.memfd_create("agentbench", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def within_hard_limit(limit: int, value: int) -> int:
    """The value for a limit, lowered to our own hard limit, which only root may raise."""
    _, hard = resource.getrlimit(limit)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """The resources that a command used, as far as they are known."""

    out_of_memory: bool = False
    peak_memory_bytes: int | None = None
    cpu_seconds: float | None = None


def command_result(
    command: Command,
    code: int | None,
    captures: Mapping[Stream, OutputCapture],
    *,
    duration: timedelta,
    use: ResourceUse,
) -> CommandResult:
    """The result of a command; its deadline outranks lack of memory, which outranks a signal.

    Args:
        command: The command.
        code: Its exit code, 128 + n for death by signal n; None if it ended at its deadline.
        captures: Its output.
        duration: The time that it took.
        use: The resources that it used.
    """
    number = code - 128 if code is not None and 128 < code <= 128 + 64 else None
    ending = Ending.EXITED if number is None else Ending.KILLED
    if code is None:
        ending = Ending.TIMED_OUT
    elif use.out_of_memory and code != 0:
        ending = Ending.OUT_OF_MEMORY
    stdout, stderr = captures[Stream.STDOUT], captures[Stream.STDERR]
    return CommandResult(
        argv=command.argv,
        ending=ending,
        exit_code=code,
        signal=number,
        duration=duration,
        timeout=command.timeout if code is None else None,
        stdout=stdout.text(),
        stderr=stderr.text(),
        truncated=stdout.truncated or stderr.truncated,
        output_bytes=stdout.total + stderr.total,
        peak_memory_bytes=use.peak_memory_bytes,
        cpu_seconds=use.cpu_seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """The end and the output of a child."""

    exit_code: int  # 128 + n for death by signal n, as in a shell
    timed_out: bool
    stopped: bool
    duration: timedelta
    cpu_seconds: float
    stdout: OutputCapture
    stderr: OutputCapture

    def result(
        self, command: Command, *, out_of_memory: bool = False, peak_memory: int | None = None
    ) -> CommandResult:
        """The result of the command that the child ran."""
        use = ResourceUse(
            out_of_memory=out_of_memory, peak_memory_bytes=peak_memory, cpu_seconds=self.cpu_seconds
        )
        captures = {Stream.STDOUT: self.stdout, Stream.STDERR: self.stderr}
        code = None if self.timed_out else self.exit_code
        return command_result(command, code, captures, duration=self.duration, use=use)


def run_child(
    child: subprocess.Popen[bytes],
    command: Command,
    *,
    end: Callable[[], None],
    stop: Callable[[], bool],
) -> ChildResult:
    """Write a child's input and read its output until it is dead and reaped.

    `end` kills the whole tree. It is called at the deadline, when `stop` returns true, and after an
    exception (of a sink, Ctrl-C), so that no process survives the call.

    Raises:
        SandboxError: the child did not die although it was killed.
    """
    with closing(_Watch(child, command)) as watch:
        try:
            watch.until_dead(end, stop)
        except BaseException:
            end()
            raise
    return watch.result()


class _Watch:
    """The state of one `run_child`."""

    def __init__(self, child: subprocess.Popen[bytes], command: Command) -> None:
        self._child = child
        self._command = command
        self._captures = {stream: OutputCapture(command.output_cap) for stream in Stream}
        self._input = memoryview(command.stdin)
        self._timed_out = self._stopped = False
        self._selector = selectors.DefaultSelector()
        self._pidfd = os.pidfd_open(child.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ, self._died)
        self._dead = False
        for stream, pipe in self._outputs():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, partial(self._read, stream, pipe))
        self._started = time.monotonic()
        self._deadline = self._started + command.timeout.total_seconds()
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            self._selector.register(child.stdin, selectors.EVENT_WRITE, self._write)

    def until_dead(self, end: Callable[[], None], stop: Callable[[], bool]) -> None:
        """Handle events until the child has died, then read the rest of its pipes."""
        killed = False
        while not self._dead:
            for key, _ in self._selector.select(min(_CHECK_EVERY, self._remaining_seconds())):
                key.data()
            if self._dead:
                break
            if killed and self._remaining_seconds() == 0.0:
                raise SandboxError(f"process {self._child.pid} does not die after SIGKILL")
            self._timed_out = self._timed_out or (not killed and self._remaining_seconds() == 0.0)
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
        _, status, usage = os.wait4(self._child.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._child.returncode = code  # otherwise Popen would assume that it still runs
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
        self._selector.close()
        os.close(self._pidfd)
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _outputs(self) -> list[tuple[Stream, IO[bytes]]]:
        pipes = ((Stream.STDOUT, self._child.stdout), (Stream.STDERR, self._child.stderr))
        return [(stream, pipe) for stream, pipe in pipes if pipe is not None]

    def _remaining_seconds(self) -> float:
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
