"""Compares recorded values in a child process, since one of them can freeze or crash a comparison.

The code under test chooses the values, and some comparisons of plain Python values never end: in
`"pear" in range(10**18)` no signal handler runs and no exception arrives before C code returns. So
only a limit that kills the process holds. The value then counts against itself alone: a new
process skips it and compares the others.
"""

import mmap
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct, field

T = TypeVar("T")

_START = "import sys; sys.path[:] = sys.argv[1:]; from {} import _main; _main()"
_GRACE = 60  # seconds to start, to parse, and to end the comparison that is under way
_LONGEST_REASON = 200


class ComparisonLimits(Struct, frozen=True, kw_only=True):
    """The limits of the comparisons of one call."""

    one_seconds: float = 5.0  # of processor time, for one recording; honest ones take milliseconds
    all_seconds: float = 300.0  # no further recording is compared after that
    memory_mib: int = 4096


class Incomparable(Struct, frozen=True):
    """The result of a comparison that froze, crashed or raised an exception."""

    reason: str


OUT_OF_TIME = Incomparable("the time for all comparisons was used up")


class ComparisonGuard(Struct, kw_only=True):
    """Numbers the comparisons of one process, and bounds each."""

    limits: ComparisonLimits | None = None  # None: in a process whose end would be the harness's
    skipped: dict[int, str] = field(default_factory=dict)  # the comparisons that ended a process
    deadline: float = float("inf")
    number: int = 0
    last: memoryview = field(default_factory=lambda: memoryview(bytearray(8)).cast("Q"))
    """The number of the last comparison that was started, where the parent process sees it."""

    def run(self, compare: Callable[[], T]) -> T | Incomparable:
        """The result of a comparison that looks at values of the code under test."""
        self.number += 1
        if (reason := self.skipped.get(self.number)) is not None:
            return Incomparable(reason)
        if self.number > self.last[0]:  # not one that another process has already completed
            if time.monotonic() > self.deadline:
                return OUT_OF_TIME
            self.last[0] = self.number
        if self.limits is not None:  # the default action of SIGPROF kills, also inside C code
            signal.setitimer(signal.ITIMER_PROF, self.limits.one_seconds)
        try:
            return compare()
        except Exception as error:  # noqa: BLE001 - the value caused it, whatever it is
            return Incomparable(f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
        finally:
            if self.limits is not None:
                signal.setitimer(signal.ITIMER_PROF, 0)


def isolated(
    method: Callable[..., T], *arguments: object, limits: ComparisonLimits | None = None
) -> T:
    """The result of `method(*arguments, guard)` in a child process with limits.

    One child makes all comparisons of a call, which costs a start of Python and no more. It is no
    `multiprocessing`, which would fork a program with threads or run the caller's script again.

    Args:
        method: A function or a method that passes all comparisons to the guard.
        arguments: Values that can be pickled.
        limits: Other limits than usual.

    Raises:
        ChildProcessError: the child failed outside of a comparison; this is a bug.
    """
    limits = limits or ComparisonLimits()
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", _START.format(__name__), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # its processes can be killed together
    )
    try:
        answer, errors = child.communicate(
            pickle.dumps((method, arguments, limits)), timeout=limits.all_seconds + _GRACE
        )
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.returncode != 0:
        raise ChildProcessError(f"comparing recorded values failed: {errors.decode()[-2000:]}")
    found: T = pickle.loads(answer)
    return found


def _main() -> None:
    """Run the method of the request in a fork, and again without the comparison that ended it."""
    request = sys.stdin.buffer.read()
    method, arguments, limits = pickle.loads(request)
    memory = limits.memory_mib << 20
    # Processor time bounds each process if the harness is killed and nobody waits for it.
    bounds = (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, int(limits.all_seconds + _GRACE))
    for kind, soft in (*bounds, (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        least = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(kind, (least, hard))
    guard = ComparisonGuard(
        limits=limits,
        deadline=time.monotonic() + limits.all_seconds,
        last=memoryview(mmap.mmap(-1, 8)).cast("Q"),
    )
    while True:
        process = os.fork()  # safe: this process has one thread
        if process == 0:
            _answer(method, arguments, guard)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code >= 0:
            sys.exit(code)
        if guard.last[0] == 0 or guard.last[0] in guard.skipped:
            sys.exit(f"a process ended by signal {-code} outside of a comparison")
        reason = f"its comparison crashed by signal {-code}"
        if -code == signal.SIGPROF:
            reason = f"its comparison took longer than {limits.one_seconds:g} s"
        guard.skipped[guard.last[0]] = reason


def _answer(
    method: Callable[..., object], arguments: tuple[object, ...], guard: ComparisonGuard
) -> None:
    try:
        sys.stdout.buffer.write(pickle.dumps(method(*arguments, guard)))
        sys.stdout.buffer.flush()
    except BaseException:  # noqa: BLE001 - a fork must not return into the code of its parent
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
