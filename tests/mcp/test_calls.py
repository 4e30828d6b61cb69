"""Deadlines and cancellation, which are behaviour here: how long until no process is left."""

import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from agentbench.mcp.calls import CalledOffError, carry_out
from agentbench.pytest_results.progress import Progress
from tests.mcp.connection import command_for, over_http, over_stdio
from tests.timing import quickest

HANGING = """
import os, pathlib, subprocess, sys, time

def test_quick(): pass

def test_hangs():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""


@pytest.fixture
def hanging(tmp_path):
    (tmp_path / "test_hanging.py").write_text(HANGING)
    return tmp_path


@pytest.fixture
def served(hanging, plain_python):
    """Opens a client of a server for the hanging suite."""

    @contextmanager
    def connect(how, mode="auto"):
        options = ["--python", str(plain_python)]
        if how is over_http:
            options += ["--transport", "http", "--port", "0"]
        with how(command_for(hanging, *options), mode) as session:
            yield session

    return connect


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_pids(folder):
    """The processes of the hanging test, once it hangs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (folder / "pids").exists() and (text := (folder / "pids").read_text()):
            return [int(pid) for pid in text.split()]
        time.sleep(0.02)
    raise AssertionError("the suite did not start")


def test_a_timeout_answers_in_time_with_what_was_done_and_leaves_no_process(served, hanging):
    answers = []

    def measured():
        (hanging / "pids").unlink(missing_ok=True)
        started = time.monotonic()
        answers.append(session.call("execute_tests", {"timeout_s": 2}).structured_content)
        return time.monotonic() - started

    with served(over_stdio) as session:
        session.call("discover_tests", {})  # what is loaded at the first run is loaded by now
        took = quickest(measured, enough=3)
    answer = answers[-1]
    assert answer["outcome"] == "timeout"
    assert {case["node_id"]: case["outcome"] for case in answer["tests"]} == {
        "test_hanging.py::test_quick": "passed",
        "test_hanging.py::test_hangs": "unfinished",
    }
    assert took < 3
    assert not any(map(is_running, wait_for_pids(hanging)))


@pytest.mark.parametrize(
    ("how", "mode"),
    [(over_stdio, "auto"), (over_stdio, "legacy"), (over_http, "auto"), (over_http, "legacy")],
    ids=["stdio, 2026-07-28", "stdio, 2025-11-25", "http, 2026-07-28", "http, 2025-11-25"],
)
def test_a_cancelled_call_leaves_no_process_half_a_second_later(served, hanging, how, mode):
    with served(how, mode) as session:

        async def call_and_cancel():
            async with anyio.create_task_group() as group:
                group.start_soon(session.client.call_tool, "execute_tests", {})
                pids = await anyio.to_thread.run_sync(wait_for_pids, hanging)
                group.cancel_scope.cancel()
            cancelled = time.monotonic()
            while any(map(is_running, pids)) and time.monotonic() < cancelled + 5:
                await anyio.sleep(0.01)
            return time.monotonic() - cancelled

        def measured():
            (hanging / "pids").unlink(missing_ok=True)
            return session.portal.call(call_and_cancel)

        took = quickest(measured, enough=0.5)
        answer = session.call("explain_failure", {"exit_code": 1})
    assert took < 0.5
    assert answer.structured_content["explanation"]


def test_a_client_that_goes_away_leaves_no_process(served, hanging):
    with served(over_stdio) as session:
        call = session.portal.start_task_soon(session.client.call_tool, "execute_tests", {})
        pids = wait_for_pids(hanging)
        call.cancel()
    assert not any(map(is_running, pids))


def test_progress_is_told_while_tests_run_and_once_at_the_end(tmp_path, plain_python):
    suite = "import time, pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_n(n): "
    (tmp_path / "test_slow.py").write_text(f"{suite}time.sleep(0.05)\n")
    told = []

    async def note(done, total, message):
        told.append((done, total, message))

    with over_stdio(command_for(tmp_path, "--python", str(plain_python))) as session:
        session.call("execute_tests", {}, progress_callback=note)
    done = [row[0] for row in told]
    assert done == sorted(set(done))
    assert len(told) > 1
    assert told[-1] == (30, 30, "30 of 30 tests")
    assert all(total == 30 for _, total, _ in told)


def test_work_that_is_interrupted_by_itself_is_no_answer():
    def work(_watch):
        raise KeyboardInterrupt

    with pytest.raises(CalledOffError):
        anyio.run(lambda: carry_out(work, limiter=anyio.CapacityLimiter(1), tell=None))


def test_progress_that_does_not_increase_is_not_told():
    told = []

    async def tell(progress):
        told.append(progress.done)

    def work(watch):
        for done in (3, 2, 3):
            watch.progress(Progress(done=done, collected=3))
        return {}

    anyio.run(lambda: carry_out(work, limiter=anyio.CapacityLimiter(1), tell=tell))
    assert told == [3]


def test_work_that_is_cancelled_is_told_so_and_waited_for():
    ended = []

    def work(watch):
        watch.cancel.wait(20)
        ended.append(watch.cancel.is_set())
        raise KeyboardInterrupt

    async def cancel_soon():
        with anyio.move_on_after(0.05) as scope:
            await carry_out(work, limiter=anyio.CapacityLimiter(1), tell=None)
        return scope.cancelled_caught

    assert anyio.run(cancel_soon)
    assert ended == [True]
