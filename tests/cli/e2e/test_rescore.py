import json

import pytest

from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from tests.runs.records import failed


@pytest.fixture
def stale(runs_dir):
    """A run of which one record bears a verdict that its evidence does not give."""
    (folder,) = runs_dir.iterdir()
    store = RunStore.open(folder)
    wrong = failed(attempt=2).replace(resolved=True, failure_reason=None)
    at, retry = store.attempt_folder(wrong.task_id, 2)
    store.append(wrong.replace(retry_of=retry), at)
    return store


def rescore(cli, runs_dir, *arguments):
    return cli("rescore", *arguments, "--runs-dir", runs_dir)


def test_verdicts_that_hold_are_counted(cli, runs_dir):
    result = rescore(cli, runs_dir)
    assert (result.code, result.stdout) == (0, "")
    assert result.stderr == "0 of 2 verdicts change\n"


def test_a_verdict_that_changes_is_shown_and_nothing_is_written(cli, runs_dir, stale):
    before = list(read_run(stale.folder).records())
    result = rescore(cli, runs_dir)
    assert result.stdout == "one attempt 2: resolved -> TESTS_FAILED\n"
    assert result.stderr == "1 of 2 verdicts change\n"
    assert list(read_run(stale.folder).records()) == before


def test_json_is_one_document(cli, runs_dir, stale):
    assert stale
    (change,) = json.loads(rescore(cli, runs_dir, "--json").stdout)["changed"]
    assert (change["resolved_before"], change["resolved_after"]) == (True, False)
    assert (change["before"], change["after"]) == (None, "TESTS_FAILED")


def test_only_when_told_the_new_verdict_is_kept_beside_the_old(cli, runs_dir, stale):
    count = len(read_run(stale.folder).summaries)
    rescore(cli, runs_dir, "--write")
    assert len(read_run(stale.folder).summaries) == count + 1
    assert [record.resolved for record in stale.latest()] == [True, False]
    assert (stale.folder / "attempts/one/2.retry-1.rescored-1/record.json").is_file()
    assert rescore(cli, runs_dir).stderr == "0 of 2 verdicts change\n"
