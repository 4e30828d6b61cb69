"""Compares recorded values in a child process, since one of them can freeze or crash a comparison.

The code under test chooses the values, and some comparisons of plain Python values never end: in
`"pear" in range(10**18)` no signal handler runs and no exception arrives before C code returns. So
only a limit that kills the process holds. The value then counts against itself alone: a new
process skips it and compares the others.
"""

import atexit
import io
import mmap
import os
import pickle
import resource
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, NoReturn, Self, TypeVar, cast

T = TypeVar("T")

_START = """
import sys
sys.path[:] = sys.argv[1:]
import agentbench.integrity.sealing.plan  # the engine
from agentbench.integrity.sealing.isolation import _serve
_serve()
"""
_GRACE = 60  # seconds to parse, and to end the comparison that is under way
_LONGEST_REASON = 200
_LONGEST_FAILURE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonLimits:
    """The limits of the comparisons of one call."""

    one_seconds: float = 5.0  # of processor time, for one recording; honest ones take milliseconds
    all_seconds: float = 300.0  # no further recording is compared after that
    memory_mib: int = 4096


@dataclass(frozen=True, slots=True)
class Incomparable:
    """The result of a comparison that froze, crashed or raised an exception."""

    reason: str


OUT_OF_TIME = Incomparable("the time for all comparisons was used up")


@dataclass(slots=True, kw_only=True)
class ComparisonGuard:
    """Numbers the comparisons of one process, and bounds each."""

    limits: ComparisonLimits | None = None  # None: in a process whose end would be the harness's
    skipped: dict[int, str] = field(default_factory=dict)  # the comparisons that ended a process
    finished: dict[int, object] = field(default_factory=dict)  # results of the processes before
    log: io.FileIO | None = None  # for results, since they outlive the process
    deadline: float = float("inf")
    number: int = 0
    last: memoryview = field(default_factory=lambda: memoryview(bytearray(8)).cast("Q"))
    """The number of the last comparison that was started, where the parent process sees it."""

    def run(self, compare: Callable[[], T]) -> T | Incomparable:
        """The result of a comparison that looks at values of the code under test."""
        self.number += 1
        if (reason := self.skipped.get(self.number)) is not None:
            return Incomparable(reason)
        if self.number in self.finished:
            return cast("T", self.finished[self.number])
        if time.monotonic() > self.deadline:
            return OUT_OF_TIME
        self.last[0] = self.number
        found: T | Incomparable
        # Plain values can make a comparison endless, as `"pear" in range(10**18)`, or crash it.
        if self.limits is not None:  # the default action of SIGPROF kills, also inside C code
            signal.setitimer(signal.ITIMER_PROF, self.limits.one_seconds)
        try:
            found = compare()
        except Exception as error:  # noqa: BLE001 - the value caused it, whatever it is
            found = Incomparable(f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
        finally:
            if self.limits is not None:
                signal.setitimer(signal.ITIMER_PROF, 0)
        if self.log is not None:
            self.log.write(pickle.dumps((self.number, found)))
        return found

    def read_log(self) -> None:
        """Take over the results of a process that has ended, so that none is computed again.

        Otherwise many slow comparisons would be repeated after each one that ends a process.
        """
        assert self.log is not None
        self.log.seek(0)
        content = io.BytesIO(self.log.read())
        self.log.truncate(0)
        with suppress(EOFError, pickle.UnpicklingError):  # the last one may be incomplete
            while True:
                number, found = pickle.load(content)
                self.finished[number] = found


@cache
def comparing_server() -> socket.socket:
    """Start the process that forks a child for each `Comparison`; it ends with this one.

    It imports the engine once, which takes as long as a small test run (0.2 s), so a caller starts
    it before it has anything to compare. It is no `multiprocessing`, which would fork a program
    with threads or run the caller's script again.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-c", _START, *sys.path],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),  # stdout is the harness's
            ],
            setsid=True,  # a Ctrl-C at the terminal is for the harness alone
        )
    atexit.register(ours.close)
    return ours


class Comparison(Generic[T]):
    """One call of a method in a child process with limits; `with` ends the child."""

    def __init__(self, method: Callable[..., T]) -> None:
        """Start the child, which prepares the method meanwhile: a plan seals its files again.

        Args:
            method: A function or a method that passes all comparisons to its last argument, a
                `ComparisonGuard`.
        """
        self._connection, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(comparing_server(), [b"."], [theirs.fileno()])
            except BrokenPipeError:  # it was killed, for example for lack of memory
                comparing_server.cache_clear()
                socket.send_fds(comparing_server(), [b"."], [theirs.fileno()])
        self._send(pickle.dumps(sys.path) + pickle.dumps(method))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def __call__(self, *arguments: object, limits: ComparisonLimits | None = None) -> T:
        """The result of the method; only once.

        Args:
            arguments: Values that can be pickled.
            limits: Other limits than usual.

        Raises:
            ChildProcessError: the child failed outside of a comparison; this is a bug.
        """
        self._send(pickle.dumps((arguments, limits or ComparisonLimits())))
        with suppress(ConnectionError):
            self._connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError), self._connection.makefile("rb") as stream:
            answer = stream.read()
        found = pickle.loads(answer) if answer else _Failed("its process was killed")
        if isinstance(found, _Failed):
            raise ChildProcessError(f"comparing recorded values failed: {found.how}")
        result: T = found
        return result

    def _send(self, message: bytes) -> None:
        with suppress(ConnectionError):  # the answer will be missing
            self._connection.sendall(message)


def isolated(
    method: Callable[..., T], *arguments: object, limits: ComparisonLimits | None = None
) -> T:
    """The result of a `Comparison` that nothing else is done beside.

    Raises:
        ChildProcessError: the child failed outside of a comparison; this is a bug.
    """
    with Comparison(method) as compare:
        return compare(*arguments, limits=limits)


@dataclass(frozen=True, slots=True)
class _Failed:
    """The answer of a child that failed outside of a comparison."""

    how: str


# Fork a child for each connection that arrives, until the harness has ended.
def _serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    arrivals = socket.socket(fileno=0)
    while (received := socket.recv_fds(arrivals, 1, 1))[0]:
        connection = socket.socket(fileno=received[1][0])
        if os.fork() == 0:  # safe: this process has one thread
            arrivals.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer_request(connection)
            os._exit(0)
        connection.close()


# Run the method of a request in a fork, and again without the comparison that ended it.
def _answer_request(connection: socket.socket) -> None:
    stream = connection.makefile("rwb")
    sys.path[:] = pickle.load(stream)
    method = pickle.load(stream)
    try:
        arguments, limits = pickle.load(stream)
    except EOFError:  # the run before the comparison has failed
        return
    memory = limits.memory_mib << 20
    longest = int(limits.all_seconds + _GRACE)
    for kind, soft in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, longest),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        least = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(kind, (least, hard))
    guard = ComparisonGuard(
        limits=limits,
        deadline=time.monotonic() + limits.all_seconds,
        last=memoryview(mmap.mmap(-1, 8)).cast("Q"),
        log=tempfile.TemporaryFile(buffering=0),  # noqa: SIM115 - it lives as long as the process
    )
    while True:
        process = os.fork()
        if process == 0:
            signal.alarm(longest)  # bounds it also if the harness is killed
            _answer(method, arguments, guard, stream)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code >= 0:
            return
        guard.read_log()
        if guard.last[0] == 0 or guard.last[0] in {*guard.skipped, *guard.finished}:
            how = f"a process ended by signal {-code} outside of a comparison"
            stream.write(pickle.dumps(_Failed(how)))
            stream.flush()
            return
        guard.skipped[guard.last[0]] = _reason(-code, limits)


def _reason(signum: int, limits: ComparisonLimits) -> str:
    if signum == signal.SIGPROF:
        return f"its comparison took longer than {limits.one_seconds:g} s"
    return f"its comparison crashed by signal {signum}"


def _answer(
    method: Callable[..., object],
    arguments: tuple[object, ...],
    guard: ComparisonGuard,
    stream: io.BufferedRWPair,
) -> NoReturn:
    try:
        answer = pickle.dumps(method(*arguments, guard))
    except BaseException:  # noqa: BLE001 - a fork must not return into the code of its parent
        answer = pickle.dumps(_Failed(traceback.format_exc()[-_LONGEST_FAILURE:]))
    try:
        stream.write(answer)
        stream.flush()
    finally:  # also if the harness has ended
        os._exit(0)
