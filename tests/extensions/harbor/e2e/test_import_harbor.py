import json

import pytest

from tests.extensions.harbor.harbor_folders import ALL_AGES, harbor_folder


@pytest.fixture
def theirs(tmp_path):
    for name, changes in ALL_AGES.items():
        harbor_folder(tmp_path / "theirs" / name, changes)
    return tmp_path / "theirs"


def test_without_a_proof_the_tasks_are_written_and_nothing_runs(cli, theirs, tmp_path):
    result = cli("tasks", "import", "harbor", theirs, "--out", tmp_path / "ours", "--no-prove")
    assert result.code == 0, result.stderr
    assert result.stdout.splitlines() == [
        str(tmp_path / "ours" / name) for name in sorted(ALL_AGES)
    ]
    assert "note: hello: the agent has a public network" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_what_is_refused_is_65_and_named_after_the_good_rest_was_written(cli, theirs, tmp_path):
    harbor_folder(theirs / "broken", {"task.toml": "[environment]\ngpus = 4\n"})
    where = ("--out", tmp_path / "ours", "--no-prove", "--json")
    result = cli("tasks", "import", "harbor", theirs, *where)
    assert result.code == 65
    document = json.loads(result.stdout)
    assert len(document["written"]) == 4
    (refused,) = document["refused"]
    assert refused["field"] == "environment.gpus"
    assert refused["where"].endswith("broken/task.toml")


@pytest.mark.docker
def test_each_is_proven_by_its_own_script_and_the_wrong_one_is_named(cli, theirs, tmp_path):
    where = ("--out", tmp_path / "ours", "--runs-dir", tmp_path / "runs", "--sandbox", "docker")
    result = cli("tasks", "import", "harbor", theirs, *where, "--repeat", 1, "-j", 2, "-q")
    assert result.code == 1, result.stderr
    words = {line.split()[0].rpartition("/")[2]: line for line in result.stdout.splitlines()}
    assert all(words[name].endswith("  valid") for name in ("hello", "several-rewards", "separate"))
    assert words["unsolved"].endswith("INVALID")
    assert "the reference solution ends in TESTS_FAILED: reward 0 is not above 0" in result.stdout
    assert result.stderr.endswith("4 tasks written, 3 of 4 valid\n")


@pytest.mark.docker
def test_a_script_has_no_test_ids_to_be_written_down(cli, theirs, tmp_path):
    cli("tasks", "import", "harbor", theirs / "hello", "--out", tmp_path / "ours", "--no-prove")
    before = (tmp_path / "ours/hello/task.toml").read_bytes()
    where = ("--runs-dir", tmp_path / "runs", "--sandbox", "docker", "--repeat", 1, "-q")
    result = cli("validate", tmp_path / "ours", "--write-ids", *where)
    assert result.code == 0, result.stderr
    assert (tmp_path / "ours/hello/task.toml").read_bytes() == before
