"""Deadlines and cancellation: what is answered, and that no process is left."""

from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.from_thread
import pytest

from agentbench.errors import RunCancelled
from agentbench.mcp.server import CallCancelledError, run_in_thread
from agentbench.test_runs.report_files import RunProgress
from tests.mcp.connection import command_for, over_http, over_stdio
from tests.patience import HANG_SECONDS, wait_until, with_growing_limit

HANGING = """
import os, pathlib, subprocess, sys, time

def test_quick(): pass

def test_hangs():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""

WAITING = """
import pathlib, time, pytest

@pytest.mark.parametrize("n", range(30))
def test_n(n):
    while n == 29 and not pathlib.Path("told").exists():
        time.sleep(0.02)
"""
"""Goes on to its end once progress was told."""


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


def pids_in(folder):
    """The processes of the hanging test; none until it hangs."""
    path = folder / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def wait_for_pids(folder):
    """The processes of the hanging test, once it hangs."""
    wait_until(lambda: pids_in(folder))
    return pids_in(folder)


def wait_until_none_runs(pids):
    """Wait for the end of processes that would run for much longer by themselves."""
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_timeout_answers_with_what_was_done_and_leaves_no_process(served, hanging):
    def called_for(seconds):
        return session.call("execute_tests", {"timeout_s": seconds}).structured_content

    with served(over_stdio) as session:
        answer = with_growing_limit(called_for, lambda _: pids_in(hanging), limits=(2, 10, 60))
        wait_until_none_runs(pids_in(hanging))
    assert answer["outcome"] == "timeout"
    assert {case["node_id"]: case["outcome"] for case in answer["tests"]} == {
        "test_hanging.py::test_quick": "passed",
        "test_hanging.py::test_hangs": "unfinished",
    }


@pytest.mark.parametrize(
    ("how", "mode"),
    [(over_stdio, "auto"), (over_stdio, "legacy"), (over_http, "auto"), (over_http, "legacy")],
    ids=["stdio, 2026-07-28", "stdio, 2025-11-25", "http, 2026-07-28", "http, 2025-11-25"],
)
def test_a_cancelled_call_leaves_no_process(served, hanging, how, mode):
    with served(how, mode) as session:

        async def call_and_cancel():
            async with anyio.create_task_group() as group:
                group.start_soon(session.client.call_tool, "execute_tests", {})
                pids = await anyio.to_thread.run_sync(wait_for_pids, hanging)
                group.cancel_scope.cancel()
            return pids

        wait_until_none_runs(session.portal.call(call_and_cancel))
        answer = session.call("explain_failure", {"exit_code": 1})
    assert answer.structured_content["explanation"]


def test_a_client_that_goes_away_leaves_no_process(served, hanging):
    with served(over_stdio) as session:
        call = session.portal.start_task_soon(session.client.call_tool, "execute_tests", {})
        pids = wait_for_pids(hanging)
        call.cancel()
    wait_until_none_runs(pids)


def test_progress_is_told_while_tests_run_and_once_at_the_end(tmp_path, plain_python):
    (tmp_path / "test_waiting.py").write_text(WAITING)
    told = []

    async def note(done, total, message):
        told.append((done, total, message))
        (tmp_path / "told").touch()

    with over_stdio(command_for(tmp_path, "--python", str(plain_python))) as session:
        session.call("execute_tests", {}, progress_callback=note)
    done = [row[0] for row in told]
    assert done == sorted(set(done))
    assert len(told) > 1
    assert told[-1] == (30, 30, "30 of 30 tests")
    assert all(total == 30 for _, total, _ in told)


def test_work_that_is_interrupted_by_itself_is_no_answer():
    def work(_watch):
        raise RunCancelled

    with pytest.raises(CallCancelledError):
        anyio.run(lambda: run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=None))


def test_progress_that_does_not_increase_is_not_told():
    told = []

    async def tell(progress):
        told.append(progress.done)

    def work(watch):
        for done in (3, 2, 3):
            watch.progress(RunProgress(done=done, collected=3))
        return {}

    anyio.run(lambda: run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=tell))
    assert told == [3]


def test_work_that_is_cancelled_is_told_so_and_waited_for():
    ended = []

    async def cancel_at_work():
        def work(watch):
            anyio.from_thread.run_sync(scope.cancel)
            ended.append(watch.cancel.wait(HANG_SECONDS))
            raise RunCancelled

        with anyio.CancelScope() as scope:
            await run_in_thread(work, limiter=anyio.CapacityLimiter(1), tell=None)
        return scope.cancelled_caught

    assert anyio.run(cancel_at_work)
    assert ended == [True]
