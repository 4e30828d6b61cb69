import json

import pytest

from tests.extensions.releases.local_index import NEW

pytestmark = pytest.mark.full


@pytest.fixture
def release(cli, index, tmp_path, monkeypatch):
    """The command, pointed at an index on this machine as pip would be."""
    client = index.client._clients[0]
    monkeypatch.setenv("PIP_INDEX_URL", client.endpoint)

    def call(*words):
        return cli("tasks", "import", "release", *words, "--out", tmp_path / "tasks")

    return call


def test_a_task_is_written_and_named(release, tmp_path):
    result = release("demo", "--no-prove")
    assert result.code == 0
    assert result.stdout == f"kept       demo 1.0 1.1  {tmp_path}/tasks/demo-1.1\n"
    assert result.stderr.endswith("1 pair of releases: 1 kept\n")


def test_what_cannot_be_a_task_is_refused_after_the_good_rest_was_written(release, tmp_path):
    listed = tmp_path / "list"
    listed.write_text("demo\nabsent\n-r x\n")
    result = release("--from", listed, "--no-prove")
    assert result.code == 65
    assert (tmp_path / "tasks/demo-1.1").is_dir()
    assert "rejected   absent  package: the index has none of this name" in result.stdout
    assert f"refused: {listed}:3: package: expected a name on the index" in result.stderr
    assert result.stderr.endswith("2 pairs of releases: 1 kept, 1 rejected\n")


def test_one_json_document_tells_it_all(release):
    result = release("demo", "--no-prove", "--json", "--quiet")
    (pair,) = json.loads(result.stdout)["pairs"]
    assert (pair["package"], pair["old"], pair["new"], pair["fate"]) == (
        "demo",
        "1.0",
        "1.1",
        "kept",
    )


def test_a_task_that_is_not_good_exits_1_and_leaves_no_folder(
    release,
    index,
    sandbox,
    tmp_path,
):
    index.add("demo", "1.2", {**NEW, "demo.py": NEW["demo.py"] + "\n\nraise SystemExit\n"})
    result = release("demo", "1.0", "1.2", "--sandbox", sandbox, "--repeat", 1, "--quiet")
    assert result.code == 1, result.stderr
    assert result.stdout.startswith("rejected   demo 1.0 1.2  the reference solution makes no")
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["releases.jsonl"]


def test_an_index_that_is_away_exits_69(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    result = cli("tasks", "import", "release", "demo", "--out", tmp_path / "tasks", "--no-prove")
    assert result.code == 69
    assert "the package index does not answer" in result.stderr


def test_an_option_in_the_place_of_a_package_is_no_package(release):
    result = release("--no-prove", "--", "-r")
    assert result.code == 65
    assert "found '-r'" in result.stderr
