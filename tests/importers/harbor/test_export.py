import json
import subprocess
import sys
import tomllib

import pytest

from agentbench.errors import UsageError
from agentbench.importers.harbor.export import export_tasks
from agentbench.importers.harbor.importing import HARBOR
from agentbench.importers.task_folders import import_folders
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.e2e.small_task import LISTED, SmallTask
from tests.importers.harbor.harbor_folders import ALL_AGES, harbor_folder


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def small(tmp_path, mirrors):
    (tmp_path / "small").mkdir()
    return load_task(SmallTask().write(tmp_path / "small"), mirrors=mirrors)


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ALL_AGES)
def test_what_came_from_harbor_goes_back_byte_for_byte(tmp_path, mirrors, name):
    theirs = harbor_folder(tmp_path / name, ALL_AGES[name])
    (theirs / "assets").mkdir()
    (theirs / "assets" / "picture").write_bytes(b"\x00\xff")
    (ours,) = import_folders(HARBOR, [theirs], tmp_path / "ours").written
    exported = export_tasks(
        [load_task(ours, mirrors=mirrors)], tmp_path / "back", mirrors, image="x"
    )
    assert tree(exported.written[0]) == tree(theirs)


def test_a_task_that_pytest_judges_becomes_a_folder_with_hidden_tests_in_tests_alone(
    tmp_path, mirrors, small
):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {"task.toml", "instruction.md", "environment/Dockerfile", "tests/test.sh"} <= files
    assert {"solution/solve.sh", "solution/solution.patch"} <= files
    assert [name for name in files if "test_hidden" in name] == [
        "tests/hidden/tests/test_hidden.py"
    ]
    dockerfile = (made / "environment" / "Dockerfile").read_text()
    assert dockerfile.startswith("FROM base:1\n")
    assert "solution" not in dockerfile
    assert (made / "tests" / "test.sh").stat().st_mode & 0o100


def test_its_limits_and_its_listed_tests_go_along(tmp_path, mirrors, small):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    table = tomllib.loads((made / "task.toml").read_text())
    assert table["schema_version"] == "1.4"
    assert table["environment"]["memory_mb"] == small.environment.memory_mib
    assert table["verifier"]["timeout_sec"] == small.problem.test_timeout_s
    expected = json.loads((made / "tests" / "expected.json").read_text())
    assert expected["fail_to_pass"] == list(LISTED)


def test_its_script_gives_the_reward_of_the_work_that_is_there(tmp_path, mirrors, small):
    (made,) = export_tasks([small], tmp_path / "out", mirrors, image="base:1").written
    place, logs = tmp_path / "app", tmp_path / "logs"
    logs.mkdir()
    subprocess.run(["cp", "-R", made / "environment" / "agentbench-repo", place], check=True)

    def reward() -> str:
        script = (made / "tests" / "test.sh").read_text()
        here = script.replace("/logs/verifier", str(logs)).replace("/app", str(place))
        here = here.replace("/tests/", f"{made}/tests/").replace("=/tests", f"={made}/tests")
        path = f"{sys.prefix}/bin:/usr/bin:/bin"
        subprocess.run(["bash", "-c", here], env={"PATH": path}, check=False, capture_output=True)
        return (logs / "reward.txt").read_text().strip()

    assert reward() == "0"
    patch = made / "solution" / "solution.patch"
    subprocess.run(["git", "apply", str(patch)], cwd=place, check=True)
    assert reward() == "1"


def test_a_folder_that_is_there_is_not_written_over(tmp_path, mirrors, small):
    out = tmp_path / "out"
    (made,) = export_tasks([small], out, mirrors, image="a").written
    (made / "instruction.md").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        export_tasks([small], out, mirrors, image="a")
    assert (made / "instruction.md").read_text() == "mine"
    export_tasks([small], out, mirrors, image="a", replace=True)
    assert (made / "instruction.md").read_text() == small.problem.instruction


def test_a_task_without_a_form_there_is_refused_and_the_rest_is_written(tmp_path, mirrors, small):
    problem = small.problem.replace(id="other", test_command="python -m unittest")
    other = small.replace(problem=problem)
    exported = export_tasks([other, small], tmp_path / "out", mirrors, image="a")
    assert exported.written == [tmp_path / "out" / small.id]
    assert [each.what for each in exported.rejections] == [
        "its tests run under unittest; expected pytest"
    ]


def test_a_baseline_that_is_not_known_there_is_said(tmp_path, mirrors, small):
    key = small.answer_key.replace(pass_to_pass="baseline")
    unlisted = small.replace(answer_key=key)
    exported = export_tasks([unlisted], tmp_path / "out", mirrors, image="a")
    assert "Harbor does not know which tests pass before" in exported.notes[0]
