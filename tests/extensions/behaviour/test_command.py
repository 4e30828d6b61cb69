"""`agentbench behaviour` on a run whose attempts have a record and no other file."""

import json


def behaviour(cli, runs_dir, *arguments):
    return cli("behaviour", *arguments, "--runs-dir", runs_dir)


def test_tag_without_its_evidence_is_not_known_and_says_why(cli, runs_dir):
    result = behaviour(cli, runs_dir, "last")
    assert result.code == 0
    assert "since there is no trajectory (agent/trajectory.json is missing)" in result.stderr
    document = json.loads(behaviour(cli, runs_dir, "last", "--json").stdout)
    (run,) = document["runs"]
    assert [each["attempt"] for each in run["attempts"]] == [1, 2]
    assert "loop" in run["attempts"][0]["unknown"]
    assert document["differences"] == []


def test_run_compared_with_itself_has_no_difference(cli, runs_dir):
    result = behaviour(cli, runs_dir, "last", "last")
    assert result.code == 0
    assert "differs" not in result.stdout


def test_filter_that_fits_no_attempt_is_refused(cli, runs_dir):
    result = behaviour(cli, runs_dir, "last", "--filter", "nothing*")
    assert result.code == 65
    assert "expected an attempt to read, found none" in result.stderr


def test_tables_take_no_behaviour_in_another_format(cli, runs_dir):
    result = cli("report", "last", "--behaviour", "--format", "csv", "--runs-dir", runs_dir)
    assert result.code == 2
    assert "agentbench behaviour RUN --json" in result.stderr
    result = cli("compare", "last", "last", "--behaviour", "--json", "--runs-dir", runs_dir)
    assert result.code == 2
    assert "agentbench behaviour RUN_A RUN_B --json" in result.stderr


def test_tag_is_explained(cli):
    result = cli("explain", "undo-redo")
    assert result.stdout.startswith("undo-redo: (behaviour, process) The agent made an edit")
