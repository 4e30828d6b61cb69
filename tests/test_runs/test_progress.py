import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.python_runners import runner_of
from agentbench.test_runs.report_files import ProgressCounter, RunProgress, follow_progress
from agentbench.test_runs.runner import RunRequest
from tests.patience import HANG_SECONDS
from tests.test_runs.interpreters import NEWEST, requirements


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


WAITING = """
import pathlib, time, pytest

@pytest.mark.parametrize("n", range(20))
def test_n(n):
    while n == 19 and not pathlib.Path("told").exists():
        time.sleep(0.02)
"""
"""Goes on to its end once progress was told."""

COLLECTED = {"kind": "collected", "ids": ["a", "b"]}


def ended(node_id):
    return {"kind": "phase", "id": node_id, "when": "teardown"}


def test_a_tally_counts_each_test_once_however_often_it_looks():
    tally = ProgressCounter()
    stream = lines(COLLECTED, ended("a"))
    tally.read_lines(stream.splitlines(keepends=True))
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=2)
    tally.read_lines((stream + lines(ended("a"), ended("b"))).splitlines(keepends=True))
    assert tally.progress == RunProgress(done=2, collected=2)


def test_a_line_that_is_not_whole_yet_is_read_once_it_is():
    tally = ProgressCounter()
    stream = lines(COLLECTED, ended("a"))
    tally.read_lines(stream[:-5].splitlines(keepends=True))
    assert tally.progress == RunProgress(done=0, collected=2)
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=2)


def test_a_stream_that_lies_counts_for_no_more_than_it_says():
    tally = ProgressCounter()
    stream = "[]\nnonsense\n" + lines({"kind": "collected", "ids": 7}, ended("x"))
    tally.read_lines(stream.splitlines(keepends=True))
    assert tally.progress == RunProgress(done=1, collected=1)


def test_a_run_is_followed_while_it_lasts(open_sandbox):
    sandbox = open_sandbox({"test_m.py": WAITING}, *requirements(NEWEST))
    limit = timedelta(seconds=HANG_SECONDS)
    request = RunRequest(runner=runner_of(TestCommand(as_module=True)), timeout=limit)
    told = []

    def note(progress):
        told.append(progress)
        Path(sandbox.workspace, "told").touch()

    run = execute_tests(sandbox, request, progress=note)
    assert run.result.summary.passed == 20
    assert told
    assert all(progress.collected == 20 for progress in told)
    done = [progress.done for progress in told]
    assert done == sorted(done)


def test_a_sandbox_that_is_lost_ends_the_following(open_sandbox):
    sandbox = open_sandbox({}, *requirements(NEWEST))
    sandbox.lost = True
    told = []
    with follow_progress(sandbox, sandbox.results / "x", told.append), suppress(SandboxError):
        sandbox.run(None)
    assert told == []


def test_nobody_who_listens_means_no_thread(open_sandbox):
    sandbox = open_sandbox({}, *requirements(NEWEST))
    with follow_progress(sandbox, sandbox.results, None):
        pass
