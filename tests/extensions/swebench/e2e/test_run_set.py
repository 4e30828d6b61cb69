"""`agentbench run -d` on a Hub and repositories of this machine."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Said
from tests.extensions.swebench.instances import Project, write_lines
from tests.fakes.local_hub import local_hub
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.full, pytest.mark.docker]

NAME = "SWE-bench/SWE-bench_Verified"
CONFIG = {"test_cmd": "pytest", "install": "true"}


@pytest.fixture
def hub():
    with local_hub() as hub:
        yield hub


@pytest.fixture
def program(hub, tmp_path):
    """The program in a process of its own, since the Hub's client reads its settings once."""

    def program(*arguments, **env):
        home = {"HF_HOME": f"{tmp_path}/hf", "HF_HUB_CACHE": f"{tmp_path}/hf/hub"}
        cache = {"AGENTBENCH_CACHE": f"{tmp_path}/cache"}
        done = subprocess.run(
            [sys.executable, "-m", "agentbench", *map(str, arguments)],
            cwd=tmp_path, env={**os.environ, "HF_ENDPOINT": hub.url, **home, **cache, **env},
            capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return program


@pytest.fixture
def rows(tmp_path):
    """Four instances: two that can be judged, one whose patch fixes nothing, one of no project."""
    project = Project(tmp_path / "repos")
    nothing = project.diff("notes.txt", "nothing\n")
    ids = {"one": {}, "two": {}, "unfixed": {"patch": nothing}, "other": {"repo": "no/recipe"}}
    rows = [
        project.instance(instance_id=f"Acme__{name}-1", install_config=CONFIG, **changes)
        for name, changes in ids.items()
    ]
    del rows[-1]["install_config"]
    return rows


def test_known_set_is_imported_once_and_run(program, hub, rows, tmp_path):
    hub.add(NAME, {"test.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode()})
    options = (
        *("--repos", tmp_path / "repos", "--sandbox", "docker", "-j", 2, "--json"),
        *("--agent", "oracle"),
    )
    first = program("run", "-d", "verified", *options, "--limit", 1, "--run-id", "first")
    assert first.code == 0, first.stderr
    assert "1 of 4 tasks selected, 0 imported before, 1 to import\n" in first.stderr
    assert "repositories: 1, none to clone\n" in first.stderr
    assert "images: agentbench/python:3.11 for 1 task (present); " in first.stderr
    assert "time: 4 attempts validate each new task: not known yet\n" in first.stderr
    (record,) = json.loads(first.stdout)["attempts"]
    assert (record["task_id"], record["resolved"]) == ("acme__one-1", True)
    # The others are imported now, and what cannot be judged is named and left out.
    second = program("run", "-d", "swe-bench-verified", *options, "--run-id", "second")
    assert second.code == 0, second.stderr
    assert "4 of 4 tasks selected, 1 imported before, 2 to import\n" in second.stderr
    assert "s an attempt, as before\n" in second.stderr
    assert "refused: SWE-bench/SWE-bench_Verified" in second.stderr
    assert "left out: acme__unfixed-1 is not valid here: " in second.stderr
    assert "verified: 2 of 4 selected tasks can be judged here\n" in second.stderr
    tasks = {record["task_id"] for record in json.loads(second.stdout)["attempts"]}
    assert tasks == {"acme__one-1", "acme__two-1"}
    listed = json.loads(program("tasks", "sets", "--json").stdout)
    (verified,) = (row for row in listed if row["name"] == "swe-bench-verified")
    assert (verified["tasks"], verified["imported"]) == (500, 3)
    # Without the Hub and its cache's network nothing is missing.
    hub.status = 503
    third = program("run", "-d", "verified", *options, "--filter", "acme__t*", HF_HUB_OFFLINE="1")
    assert third.code == 0, third.stderr
    assert "1 of 4 tasks selected, 1 imported before, 0 to import\n" in third.stderr
    assert "repositories" not in third.stderr


def test_set_without_any_python_that_it_needs_is_69_before_its_import(program, rows, tmp_path):
    rows[0]["install_config"] = {**CONFIG, "python": "3.6"}
    write_lines(tmp_path / "rows.jsonl", *rows[:1])
    result = program(
        *("run", "-d", "rows.jsonl", "--repos", tmp_path / "repos", "--sandbox", "bubblewrap"),
        *("--agent", "oracle"),
    )
    assert result.code == 69, result.stderr
    assert result.stderr.endswith(
        "agentbench/python:3.6: use a container engine for it, --sandbox docker\n"
    )
    assert "no selected task of rows.jsonl can run here: bubblewrap provides" in result.stderr
    assert "refused" not in result.stderr
    assert not list((tmp_path / "cache").glob("mirrors/*"))


def test_file_of_rows_whose_tasks_cannot_be_judged_is_65(program, rows, tmp_path):
    file = write_lines(tmp_path / "rows.jsonl", *rows[2:])
    result = program(
        *("run", "-d", "rows.jsonl", "--repos", tmp_path / "repos", "--sandbox", "docker"),
        *("--agent", "noop", "-q"),
    )
    assert result.code == 65
    assert result.stdout == ""
    assert f"refused: {file.name}:2: Acme__other-1: " in result.stderr
    assert result.stderr.endswith(
        "agentbench: rows.jsonl: none of the selected tasks can be judged here\n"
    )


def test_filter_that_selects_nothing_imports_nothing(program, rows, tmp_path):
    write_lines(tmp_path / "rows.jsonl", *rows)
    result = program("run", "-d", "rows.jsonl", "--agent", "noop", "--filter", "b*")
    assert (result.code, result.stderr) == (
        65,
        "agentbench: no task matches --filter 'b*'; known tasks: acme__one-1, acme__two-1, "
        "acme__unfixed-1, acme__other-1\n",
    )
    assert not list((tmp_path / "cache").glob("sets/*"))
