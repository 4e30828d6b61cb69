import json

import pytest

from tests.importers.release.local_index import NEW, OLD, local_index

pytestmark = pytest.mark.full


@pytest.fixture
def index(tmp_path):
    with local_index(tmp_path / "index") as served:
        served.add("demo", "1.0", OLD)
        served.add("demo", "1.1", NEW)
        yield served


@pytest.fixture
def release(cli, index, tmp_path, monkeypatch):
    """The command, pointed at an index on this machine as pip would be."""
    client = index.client._clients[0]
    monkeypatch.setenv("PIP_INDEX_URL", client.endpoint)

    def call(*words):
        return cli("tasks", "import", "release", *words, "--out", tmp_path / "tasks")

    return call


def test_a_task_is_written_and_named(release, tmp_path):
    said = release("demo", "--no-prove")
    assert said.code == 0
    assert said.stdout == f"kept       demo 1.0 1.1  {tmp_path}/tasks/demo-1.1\n"
    assert said.stderr.endswith("1 pair of releases: 1 kept\n")


def test_what_cannot_be_a_task_is_refused_after_the_good_rest_was_written(release, tmp_path):
    listed = tmp_path / "list"
    listed.write_text("demo\nabsent\n-r x\n")
    said = release("--from", listed, "--no-prove")
    assert said.code == 65
    assert (tmp_path / "tasks/demo-1.1").is_dir()
    assert "rejected   absent  package: the index has none of this name" in said.stdout
    assert f"refused: {listed}:3: package: expected a name on the index" in said.stderr
    assert said.stderr.endswith("2 pairs of releases: 1 kept, 1 rejected\n")


def test_one_json_document_tells_it_all(release):
    said = release("demo", "--no-prove", "--json", "--quiet")
    (pair,) = json.loads(said.stdout)["pairs"]
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
    said = release("demo", "1.0", "1.2", "--sandbox", sandbox, "--repeat", 1, "--quiet")
    assert said.code == 1, said.stderr
    assert said.stdout.startswith("rejected   demo 1.0 1.2  the reference solution makes no")
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["releases.jsonl"]


@pytest.mark.parametrize("words", [(), ("demo", "--from", "list")])
def test_either_words_or_a_file_are_expected(release, words):
    said = release(*words)
    assert said.code == 2
    assert "give PACKAGE [[OLD] NEW], or --from FILE" in said.stderr


def test_an_index_that_is_away_exits_69(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    said = cli("tasks", "import", "release", "demo", "--out", tmp_path / "tasks", "--no-prove")
    assert said.code == 69
    assert "the package index does not answer" in said.stderr


def test_an_option_in_the_place_of_a_package_is_no_package(release):
    said = release("--no-prove", "--", "-r")
    assert said.code == 65
    assert "found '-r'" in said.stderr
