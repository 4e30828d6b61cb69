import io
import json
import os
import subprocess
import sys

import pyarrow
import pytest
from pyarrow import parquet

from tests.cli.conftest import Said
from tests.extensions.swebench.instances import RECIPES, Project
from tests.fakes.local_hub import local_hub
from tests.patience import HANG_SECONDS, wait_until

pytestmark = pytest.mark.full

NAME = "Acme/bugs"
TEST = "data/test-00000-of-00001.parquet"
CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: test
    path: data/test-*
  - split: dev
    path: data/dev.jsonl
- config_name: lite
  data_files: lite/*.jsonl
---
# Bugs
"""


def in_parquet(*rows):
    target = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), target)
    return target.getvalue()


def in_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def hub():
    with local_hub() as hub:
        yield hub


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "repos")


@pytest.fixture
def arguments(hub, tmp_path):
    """The arguments of a process that imports; the Hub's client reads its settings once."""
    (tmp_path / "recipes.toml").write_text(RECIPES)
    (tmp_path / "repos").mkdir(exist_ok=True)

    def arguments(*options, source=NAME, **env):
        command = (
            *(sys.executable, "-m", "agentbench", "tasks", "import", "swebench", source),
            *("--no-prove", "--out", tmp_path / "tasks", "--repos", tmp_path / "repos"),
            *("--recipes", tmp_path / "recipes.toml", *options),
        )
        home = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_CACHE": str(tmp_path / "hf" / "hub")}
        return {
            "args": [str(each) for each in command],
            "env": {**os.environ, "HF_ENDPOINT": hub.url, **home, **env},
        }

    return arguments


@pytest.fixture
def take(arguments):
    """Import, and wait for the end."""

    def take(*options, **more):
        done = subprocess.run(
            **arguments(*options, **more),
            capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return take


def test_a_data_set_is_read_by_its_name_and_tasks_remember_its_commit(take, hub, project, tmp_path):
    first = hub.add(NAME, {TEST: in_parquet(project.instance())}, "v1")
    second = hub.add(NAME, {TEST: in_parquet(project.instance(version="2.0")), "README.md": b"x"})
    result = take("--split", "test", "--json")
    assert result.code == 0, result.stderr
    assert result.stderr.startswith(f"reading {NAME}@{second}, config default, split test\n")
    assert json.loads(result.stdout)["written"] == [f"{tmp_path}/tasks/acme__counting-7"]
    origin = tmp_path / "tasks" / "acme__counting-7" / "swebench.json"
    assert json.loads(origin.read_text())["dataset"] == f"{NAME}@{second}"
    for revision in ("v1", first):
        assert take("--revision", revision, "--replace").code == 0
        assert json.loads(origin.read_text())["dataset"] == f"{NAME}@{first}"


def test_a_card_says_which_files_are_of_a_split(take, hub, project):
    hub.add(
        NAME,
        {
            "README.md": CARD.encode(),
            TEST: in_parquet(project.instance()),
            "data/dev.jsonl": in_lines(project.instance(instance_id="a__b-1")),
            "lite/some.jsonl": in_lines(project.instance(instance_id="a__b-2")),
            "other.jsonl": b"not of any split",
        },
    )
    assert "acme__counting-7" in take().stdout
    assert "a__b-1" in take("--split", "dev").stdout
    assert "a__b-2" in take("--config", "lite").stdout
    result = take("--split", "train")
    assert (result.code, result.stderr) == (
        65,
        f"agentbench: {NAME}, config default: has no split 'train'; its splits: test, dev\n",
    )
    result = take("--config", "full")
    assert (result.code, result.stderr) == (
        65,
        f"agentbench: {NAME}: has no config 'full'; its configs: default, lite\n",
    )


def test_a_wrong_row_is_named_by_its_file_in_the_data_set(take, hub, project):
    wrong = project.instance(instance_id="a__b-1", base_commit="main")
    commit = hub.add(NAME, {"test.jsonl": in_lines(project.instance(), wrong)})
    result = take()
    assert result.code == 65
    assert f"refused: {NAME}@{commit}/test.jsonl:2: a__b-1: base_commit: 'main' is" in result.stderr
    assert result.stderr.endswith("1 task written, 1 refused\n")


def test_broken_parquet_is_one_line(take, hub):
    commit = hub.add(NAME, {TEST: b"PAR1 and more"})
    result = take()
    assert result.code == 65
    assert f"refused: {NAME}@{commit}/{TEST}: is not Parquet: " in result.stderr


def test_instances_are_selected_by_patterns_and_number(take, hub, project):
    rows = [project.instance(instance_id=f"{name}-{n}") for name in "ab" for n in range(3)]
    commit = hub.add(NAME, {"test.jsonl": in_lines(*rows)})
    result = take("--instance", "a-*", "--instance", "b-1", "--limit", "3")
    assert [line.rpartition("/")[2] for line in result.stdout.splitlines()] == ["a-0", "a-1", "a-2"]
    result = take("--instance", "b-[12]", "--instance", "c-*")
    assert [line.rpartition("/")[2] for line in result.stdout.splitlines()] == ["b-1", "b-2"]
    assert (
        f"refused: {NAME}@{commit}: c-*: the data has no instance with this id\n" in result.stderr
    )


def test_a_gated_data_set_opens_with_a_token(take, hub, project):
    hub.add(NAME, {TEST: in_parquet(project.instance())})
    hub.gated, hub.token = {NAME}, "hf_right"
    refused = take(HF_TOKEN="hf_wrong")
    assert (refused.code, refused.stderr) == (
        65,
        f"agentbench: {NAME}: access is restricted; accept its conditions at "
        f"{hub.url}/datasets/{NAME}, and set HF_TOKEN to a token of that account\n",
    )
    assert take(HF_TOKEN="hf_right").code == 0


def test_without_the_hub_the_copy_in_the_cache_is_read(take, hub, project):
    hub.add(NAME, {TEST: in_parquet(project.instance()), "data/dev.jsonl": in_lines({})})
    assert take("--split", "test").code == 0
    number = len(hub.asked)
    result = take("--split", "test", "--replace", HF_HUB_OFFLINE="1")
    assert result.code == 0, result.stderr
    assert len(hub.asked) == number
    result = take("--split", "dev", HF_HUB_OFFLINE="1")
    assert (result.code, result.stderr) == (
        69,
        f"agentbench: {NAME}: HF_HUB_OFFLINE is set, and the cache has no complete copy; import it "
        "once without HF_HUB_OFFLINE\n",
    )
    hub.status = 503
    assert take("--split", "test", "--replace").code == 0


def test_a_download_that_is_cut_goes_on_where_it_ended(take, hub, project):
    content = in_lines(project.instance(hints_text="x" * 24_000_000))
    hub.add(NAME, {"test.jsonl": content})
    hub.cuts = 1
    result = take()
    assert result.code == 0, result.stderr
    (resumed,) = [asked for *_, asked in hub.asked if asked]
    assert resumed.startswith("bytes=1")


def test_after_a_kill_complete_files_are_not_downloaded_again(
    take, hub, project, tmp_path, arguments
):
    shards = ["data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"]
    rows = [project.instance(instance_id=f"a__b-{number}") for number in range(2)]
    hub.add(NAME, dict(zip(shards, map(in_parquet, rows), strict=True)))
    hub.held = shards[1]
    with subprocess.Popen(**arguments()) as running:
        wait_until(lambda: list(tmp_path.glob(f"hf/hub/*/snapshots/*/{shards[0]}")))
        running.kill()
    hub.held = ""
    hub.release.set()
    hub.asked.clear()
    result = take()
    assert result.code == 0, result.stderr
    assert result.stderr.endswith("2 tasks written\n")
    loaded = [path for method, path, _ in hub.asked if method == "GET" and "/resolve/" in path]
    assert [path.partition("/resolve/")[2][41:] for path in loaded] == [shards[1]]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--revision", "v9"), 65, "has no revision 'v9'"),
        (("--revision", "f" * 40), 65, f"has no revision '{'f' * 40}'"),
        (("--split", "train"), 65, "has no split 'train'; its splits: test"),
    ],
)
def test_a_part_that_it_does_not_have_is_one_line(take, hub, options, code, message):
    hub.add(NAME, {"test.jsonl": b"{}"})
    result = take(*options)
    assert (result.code, result.stderr) == (code, f"agentbench: {NAME}: {message}\n")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README.md": b"---\n[\n---\n", "x.csv": b""}, "expected a file of rows"),
        (
            {"a.jsonl": b"", "b.jsonl": b""},
            "has several splits; `tasks import swebench --split` selects one: a, b",
        ),
        (
            {"a/x.jsonl": b"", "b/x.jsonl": b""},
            "has several configs; `tasks import swebench --config` selects one: a, b",
        ),
    ],
)
def test_a_data_set_without_a_default_says_what_to_select(take, hub, files, message):
    hub.add(NAME, files)
    result = take()
    assert result.code == 65
    assert result.stderr.startswith(f"agentbench: {NAME}: {message}")
    assert result.stderr.count("\n") == 1


def test_a_name_that_the_hub_does_not_know_is_one_line(take, hub):
    result = take()
    assert (result.code, result.stderr) == (
        65,
        f"agentbench: {NAME}: {hub.url} has no data set of this name, or it is private; check the "
        "name, or set HF_TOKEN\n",
    )


@pytest.mark.parametrize("status", [500, 429])
def test_a_hub_that_fails_is_69(take, hub, status):
    hub.status = status
    result = take()
    assert result.code == 69
    assert result.stderr.startswith(f"agentbench: {NAME}: cannot be read from {hub.url} (")
    assert result.stderr.count("\n") == 1


def test_a_hub_that_cannot_be_reached_is_69(take):
    result = take(HF_ENDPOINT="http://127.0.0.1:9")
    assert result.code == 69
    assert result.stderr.startswith(f"agentbench: {NAME}: cannot be read from http://127.0.0.1:9 (")
    assert result.stderr.count("\n") == 1


def test_an_answer_that_is_not_of_the_hub_is_69(take, hub):
    hub.status = 200
    result = take()
    assert result.code == 69
    assert result.stderr.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_69(take, hub, tmp_path):
    hub.add(NAME, {"test.jsonl": b"{}"})
    (tmp_path / "file").write_text("")
    result = take(HF_HUB_CACHE=str(tmp_path / "file" / "hub"))
    assert result.code == 69
    assert f"the cache {tmp_path}/file/hub; check that it is writable\n" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("gone/rows.jsonl", "cannot be read: No such file or directory"),
        ("gone.parquet", "cannot be read: No such file or directory"),
        ("/gone/bugs", "expected a .parquet, .jsonl, .ndjson, .json file or the owner/name of a "),
        ("bugs", "expected a .parquet, .jsonl, .ndjson, .json file or the owner/name of a data "),
    ],
)
def test_an_argument_that_is_neither_a_file_nor_a_name_is_not_looked_up(take, hub, source, what):
    result = take(source=source)
    assert result.code == 65
    assert result.stderr.startswith(f"agentbench: {source}: {what}")
    assert result.stderr.count("\n") == 1
    assert hub.asked == []


def test_the_options_of_a_data_set_are_wrong_for_a_file(take, tmp_path):
    (tmp_path / "rows.jsonl").write_text("")
    result = take("--split", "test", source=tmp_path / "rows.jsonl")
    assert result.code == 2
    assert "--split: only for a data set of the Hub" in result.stderr
