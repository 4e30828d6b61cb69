"""How a command ends: by itself, by its deadline, by a signal, by being cancelled or killed.

Whether a process still lives is told by a lock that it holds on a file: the kernel frees it
when the process is dead, so no test has to wait and look again.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    OutputSink,
    Promise,
    Sandbox,
    SandboxProvider,
    Stream,
)
from agentbench.scoring.evidence import CommandResult, Ending
from tests.patience import with_growing_limit
from tests.sandbox.conformance_base import LIMITS, PATIENCE, Conformance, needs, python, sh

HOLD = """
import fcntl, os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(1, b"held\\n")
os.close(0), os.close(1), os.close(2)
time.sleep(1000)
"""
DOUBLE_FORK = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("python", ["python", *sys.argv[1:]])
    os._exit(0)
os.wait()
"""
ASK = """
import fcntl, sys
for name in sys.argv[1:]:
    try:
        fcntl.flock(open(name), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(name)
"""
DAEMONS = """
python hold.py plain &
nohup python hold.py nohup &
setsid python hold.py setsid &
python fork.py hold.py forked
"""
HELD = ("plain", "nohup", "setsid", "forked")
UNTIL_HELD = """
import fcntl, sys
for name in sys.argv[1:]:
    while True:
        try:
            with open(name) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            break
        except FileNotFoundError:
            pass
"""


def prepare(sandbox: Sandbox) -> None:
    """Lay out the programs that try to outlive their command."""
    for name, text in (("hold.py", HOLD), ("fork.py", DOUBLE_FORK), ("until.py", UNTIL_HELD)):
        sh(sandbox, f"cat > {name}", stdin=text.encode())


def run_into_limit(sandbox: Sandbox, *argv: str, begun: str) -> CommandResult:
    """Run a command that its time limit ends, but not before it has said that it has begun."""

    def run(seconds: float) -> CommandResult:
        return sandbox.run(Command(argv=argv, timeout=timedelta(seconds=seconds)))

    return with_growing_limit(run, lambda result: begun in result.stdout)


def survivors(sandbox: Sandbox) -> str:
    """The daemons that still hold their lock."""
    result = python(sandbox, ASK, *HELD)
    assert result.ok, result.stderr
    return result.stdout


class EndingConformance(Conformance):
    """What is left when a command has ended, and what it is said to have ended by."""

    def test_a_deadline_ends_the_whole_tree(
        self, fresh: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.KILLS_TREE)
        prepare(fresh)
        script = f"{DAEMONS}\npython until.py {' '.join(HELD)}; echo ready; sleep 1000"
        result = run_into_limit(fresh, "sh", "-c", script, begun="ready")
        assert result.ending is Ending.TIMED_OUT
        assert survivors(fresh) == ""

    def test_ended_command_leaves_no_daemon(
        self, fresh: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.KILLS_TREE)
        prepare(fresh)
        result = sh(fresh, f"{DAEMONS}\npython until.py {' '.join(HELD)}; echo ready")
        assert result.ok
        assert "ready" in result.stdout
        assert survivors(fresh) == ""

    def test_a_deadline_ends_the_command_itself(self, fresh: Sandbox) -> None:
        prepare(fresh)
        result = run_into_limit(fresh, "python", "hold.py", "plain", begun="held")
        assert result.ending is Ending.TIMED_OUT
        assert not result.ok
        assert result.timeout is not None
        assert result.duration >= result.timeout
        # It ignores TERM. Who is alive holds the lock for 1,000 s.
        assert python(fresh, ASK, "plain").stdout == ""

    def test_output_before_the_deadline_is_returned(self, sandbox: Sandbox) -> None:
        result = run_into_limit(sandbox, "sh", "-c", "echo early; sleep 1000", begun="early")
        assert (result.ending, result.stdout) == (Ending.TIMED_OUT, "early\n")

    @pytest.mark.parametrize(("name", "number"), [("TERM", 15), ("KILL", 9), ("SEGV", 11)])
    def test_signal_is_reported(self, sandbox: Sandbox, name: str, number: int) -> None:
        result = sh(sandbox, f"kill -{name} $$; sleep 1000")
        assert (result.ending, result.signal) == (Ending.KILLED, number)
        assert result.timeout is None
        assert not result.ok

    def test_a_killed_sandbox_runs_nothing_more(self, fresh: Sandbox) -> None:
        for _ in range(2):  # the second kill does nothing
            fresh.kill()
            with pytest.raises(SandboxError):
                sh(fresh, "true")

    def test_a_kill_ends_the_command_that_runs(self, fresh: Sandbox) -> None:
        command = _that_says_up(lambda _stream, _chunk: killer.start())
        killer = Thread(target=fresh.kill)
        with pytest.raises(SandboxError):
            fresh.run(command)
        killer.join()

    def test_silent_command_can_be_cancelled(
        self, provider: SandboxProvider, image: ImageId
    ) -> None:
        up, cancel = Event(), Event()
        thread = Thread(target=lambda: (up.wait(), cancel.set()))
        thread.start()
        command = _that_says_up(lambda _stream, _chunk: up.set())
        with (
            provider.open(image, limits=LIMITS, network=False, cancel=cancel) as sandbox,
            pytest.raises(RunCancelled),  # at its time limit it would not be raised
        ):
            sandbox.run(command)
        thread.join()

    def test_cancelled_command_leaves_the_sandbox_usable(self, fresh: Sandbox) -> None:
        cancel = Event()
        command = _that_says_up(lambda _stream, _chunk: cancel.set())
        with pytest.raises(RunCancelled):  # at its time limit it would not be raised
            fresh.run(replace(command, cancel=cancel))
        assert sh(fresh, "echo on").stdout == "on\n"

    def test_eight_sandboxes_work_in_parallel(
        self, provider: SandboxProvider, image: ImageId
    ) -> None:
        def attempt(number: int) -> CommandResult:
            with provider.open(image, limits=LIMITS, network=False) as sandbox:
                sh(sandbox, f"echo {number} > mine")
                return sh(sandbox, "cat mine")

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(attempt, range(8)))
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(8)]


def _that_says_up(sink: OutputSink) -> Command:
    def once(stream: Stream, chunk: bytes) -> None:
        if stream is Stream.STDOUT:
            sink(stream, chunk)

    return Command(argv=("sh", "-c", "echo up; sleep 1000"), timeout=PATIENCE, sink=once)
