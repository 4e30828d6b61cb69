import json
from contextlib import closing

import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.runs.store.store import RunStore, run_lock
from tests.fakes.staging import local_provider, small_task

pytestmark = pytest.mark.full


@pytest.fixture
def cut_off(tmp_path):
    """A run of two attempts that was broken off after the first."""
    options = RunOptions(
        agent=NoopAgent(), sandbox=local_provider(), runs_dir=tmp_path / "runs", attempts=2, jobs=1
    )
    run = start_run([small_task(tmp_path / "small")], options)
    with closing(run.attempts()) as records:
        next(records)
    return run.store.folder


def test_what_is_missing_is_made_and_the_whole_run_is_shown(cli, cut_off):
    result = cli("resume", cut_off)
    assert result.code == 0, result.stderr
    assert "1 attempt to make\n" in result.stderr
    rate, following = result.stderr.splitlines()[-2:]
    assert rate.startswith("resolved 0/2 ")
    assert following.startswith("next: agentbench show ")
    assert len(RunStore.open(cut_off).latest()) == 2
    assert cli("resume", "last", "--runs-dir", cut_off.parent).stderr.startswith("0 attempts")


def test_json_is_one_document_of_all_attempts(cli, cut_off):
    result = cli("resume", cut_off, "--json", "--quiet")
    assert len(json.loads(result.stdout)["attempts"]) == 2


def test_a_run_that_another_process_makes_is_2_in_one_line(cli, cut_off):
    with run_lock(cut_off):
        result = cli("resume", cut_off)
    assert (result.code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "another process is making this run's attempts; wait until it ends" in line
