import os
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.sandbox.interface import Command, Stream
from agentbench.sandbox.supervise import (
    ChildResult,
    OutputCapture,
    memory_file,
    run_child,
)
from agentbench.scoring.evidence import Ending


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(1, 100))
def test_head_and_tail_stay_for_any_chunks(chunks: list[bytes], cap: int) -> None:
    capture = OutputCapture(cap)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    assert capture.total == len(whole)
    assert capture.truncated == (len(whole) > cap)
    if not capture.truncated:
        assert capture.text() == whole.decode("utf-8", "replace")
    else:
        head, tail = whole[: cap - cap // 2], whole[len(whole) - cap // 2 :]
        assert capture.text().startswith(head.decode("utf-8", "replace"))
        assert capture.text().endswith(tail.decode("utf-8", "replace"))


def test_the_cut_says_how_much_is_missing() -> None:
    capture = OutputCapture(10)
    capture.feed(b"01234567890123456789x")
    assert capture.text() == "01234\n[... 11 bytes cut out here ...]\n6789x"


def never() -> bool:
    return False


def started(script: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(("sh", "-c", script), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)


def command(seconds: float = 60.0) -> Command:
    return Command(argv=("x",), timeout=timedelta(seconds=seconds))


def test_output_that_is_still_in_the_pipe_at_the_end_is_read() -> None:
    child = started("head -c 60000 /dev/zero | tr '\\0' a")
    attended = run_child(child, command(), end=child.kill, stop=never)
    assert attended.stdout.text() == "a" * 60000


def test_inherited_pipe_is_not_waited_for() -> None:
    child = started("sleep 1000 & echo $!")
    attended = run_child(child, command(), end=child.kill, stop=never)
    subprocess.run(("kill", attended.stdout.text().strip()), check=True)
    assert attended.exit_code == 0


def test_exception_of_a_sink_ends_the_child() -> None:
    def broken(_stream: Stream, _chunk: bytes) -> None:
        raise ZeroDivisionError

    child = started("echo x; exec sleep 1000")
    given = Command(argv=("x",), timeout=timedelta(seconds=60), sink=broken)
    with pytest.raises(ZeroDivisionError):
        run_child(child, given, end=child.kill, stop=never)
    assert child.wait() == -9


def test_stopped_child_is_reported() -> None:
    child = started("exec sleep 1000")
    attended = run_child(child, command(), end=child.kill, stop=lambda: True)
    assert (attended.stopped, attended.timed_out, attended.exit_code) == (True, False, 137)


def ended(*, exit_code: int, timed_out: bool = False) -> ChildResult:
    child = started(f"exit {exit_code}")
    attended = run_child(child, command(), end=child.kill, stop=never)
    return ChildResult(
        exit_code=attended.exit_code,
        timed_out=timed_out,
        stopped=False,
        duration=attended.duration,
        cpu_seconds=0.0,
        stdout=attended.stdout,
        stderr=attended.stderr,
    )


@pytest.mark.parametrize(
    ("exit_code", "timed_out", "out_of_memory", "ending"),
    [
        (0, False, True, Ending.EXITED),
        (1, False, False, Ending.EXITED),
        (1, False, True, Ending.OUT_OF_MEMORY),
        (137, False, False, Ending.KILLED),
        (137, False, True, Ending.OUT_OF_MEMORY),
        (137, True, True, Ending.TIMED_OUT),
        (255, False, False, Ending.EXITED),
    ],
)
def test_deadline_outranks_memory_and_signal(
    exit_code: int, timed_out: bool, out_of_memory: bool, ending: Ending
) -> None:
    attended = ended(exit_code=exit_code, timed_out=timed_out)
    assert attended.result(command(), out_of_memory=out_of_memory).ending is ending


def test_memory_file_is_readable_and_closed() -> None:
    content = b"x" * 5_000_000
    with ExitStack() as keep:
        descriptor = memory_file(content, keep)
        with open(descriptor, "rb", closefd=False) as file:
            assert file.read() == content
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


ASK = """
import resource
from agentbench.sandbox.supervise import within_hard_limit
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 50), 50))
print(within_hard_limit(resource.RLIMIT_NOFILE, 10), within_hard_limit(resource.RLIMIT_NOFILE, 99))
"""


def test_limit_is_lowered_to_our_own() -> None:
    asked = subprocess.run((sys.executable, "-c", ASK), capture_output=True, text=True, check=True)
    assert asked.stdout == "10 50\n"
