"""Two processes never make the attempts of one run; a dead one keeps nobody out."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from agentbench.errors import StorageError, UsageError
from agentbench.runs.options import RunOptions
from agentbench.runs.start import resume_run, start_run
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import is_run_locked, run_lock

HOLDER = """
import sys, time
from pathlib import Path
from agentbench.runs.store.store import run_lock, is_run_locked
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has the folder."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.usefixtures("holder")
def test_another_process_is_told_what_to_do(tmp_path):
    with (
        pytest.raises(UsageError, match="another process is making this run's attempts; wait"),
        run_lock(tmp_path),
    ):
        raise AssertionError


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_dead_process_held_is_free_at_once(holder, tmp_path, end):
    os.kill(holder.pid, end)
    holder.wait()
    with run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass


def test_whether_it_is_held_can_be_seen_without_taking_or_making_it(tmp_path):
    assert not is_run_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with run_lock(tmp_path):
        assert is_run_locked(tmp_path)
        assert is_run_locked(tmp_path)
    assert not is_run_locked(tmp_path)


def test_what_a_killed_process_held_is_seen_to_be_free(holder, tmp_path):
    assert is_run_locked(tmp_path)
    holder.kill()
    holder.wait()
    assert not is_run_locked(tmp_path)


def test_a_folder_that_is_none_is_told_as_such(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(StorageError, match="cannot be written"), run_lock(tmp_path / "run"):
        raise AssertionError


def test_a_run_that_is_under_way_is_not_gone_on_with(task, provider, tmp_path):
    options = RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path, jobs=1, attempts=2)
    run = start_run([task], options)
    with closing(run.attempts()) as records:
        next(records)
        with pytest.raises(UsageError, match="another process"):
            resume_run(run.store.folder, cache_dir=options.cache_dir)
        with pytest.raises(UsageError, match="another process"):
            next(run.attempts())


def test_what_the_one_before_has_done_meanwhile_is_not_done_again(task, provider, tmp_path):
    options = RunOptions(agent="noop", sandbox=provider, runs_dir=tmp_path, jobs=1, attempts=2)
    run = start_run([task], options)
    assert len(list(run.attempts())) == 2
    assert list(run.attempts()) == []
    assert len(tuple(read_run(run.store.folder, whole=True).records())) == 2
