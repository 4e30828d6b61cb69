from dataclasses import replace
from pathlib import Path

import pytest

from agentbench.errors import UsageError
from agentbench.importers.history import TaskDestination, write_fix_task
from agentbench.tasks.fix_commit import split_fix
from agentbench.tasks.git_history import find_commit
from agentbench.tasks.loading import load_task
from tests.fakes.staging import mirrors


@pytest.fixture
def fix(pocket, head):
    return split_fix(head, find_commit(head, pocket.commits["fix"]))


def test_a_fix_becomes_a_task_of_files(fix, origin, pocket, tmp_path):
    folder = write_fix_task(
        fix, origin, TaskDestination(parent=tmp_path / "out"), whole_suite=False
    )
    assert folder.name == f"pocket-{pocket.commits['fix'][:12]}"
    task = load_task(folder, mirrors=mirrors())
    assert task.problem.test_paths == ("tests/test_hidden.py",)
    assert "sum(prices[1:])" in (folder / "repo/basket.py").read_text()
    assert not (folder / "repo/tests/test_hidden.py").exists()
    # There is no history to ask; v1.0 is the commit before the fix.
    assert task.environment.env["SETUPTOOLS_SCM_PRETEND_VERSION"] == "1.0"


def test_a_fix_becomes_a_task_of_a_url(fix, origin, pocket, tmp_path):
    told = replace(origin, as_files=False)
    folder = write_fix_task(fix, told, TaskDestination(parent=tmp_path / "out"), whole_suite=True)
    task = load_task(folder, mirrors=mirrors())
    assert (task.source.url, task.source.commit) == (pocket.url, pocket.commits["prose"])
    assert task.problem.test_paths == ()
    assert not (folder / "repo").exists()


def test_a_place_names_the_task():
    assert TaskDestination.of(Path("a/my-task")) == TaskDestination(
        parent=Path("a"), task_id="my-task"
    )
    assert TaskDestination.of(None) == TaskDestination(parent=Path("tasks"))
    with pytest.raises(UsageError, match="is not a valid task id"):
        TaskDestination.of(Path("a/My Task"))
