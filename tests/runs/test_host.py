import os
import subprocess

import pytest

from agentbench.runs.host import (
    available_cpus,
    available_memory_mib,
    catalogue_state,
    fitting_jobs,
    host_facts,
)
from agentbench.tasks.task import Environment
from tests.fakes.staging import small_task


def test_the_machine_is_described_in_words():
    facts = host_facts()
    assert set(facts) == {"system", "kernel", "machine", "python", "cpus", "memory_mib"}
    assert all(facts.values())
    assert facts["cpus"] == str(available_cpus())


def test_only_the_cores_that_this_process_may_use_count():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_cpus() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.fixture
def task(tmp_path):
    return small_task(tmp_path / "small")


def test_jobs_fit_the_cores_and_the_memory(task):
    def with_memory(mib: int):
        return task.model_copy(update={"environment": Environment(memory_mib=mib)})

    memory = available_memory_mib()
    assert memory is not None
    assert memory > 0
    assert fitting_jobs([with_memory(1)]) == 2 * available_cpus()
    assert fitting_jobs([with_memory(1), with_memory(memory * 2)]) == 1
    assert fitting_jobs([]) >= 1


def test_the_commit_of_the_catalogue_is_told_and_whether_it_was_changed(tmp_path):
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@y")
        said = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return said.stdout.strip()

    assert catalogue_state(tmp_path) == (None, None)
    git("init", "--quiet")
    assert catalogue_state(tmp_path) == (None, None)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "suite.toml").write_text("")
    git("add", ".")
    git("commit", "--quiet", "-m", "x")
    commit = git("rev-parse", "HEAD")
    assert catalogue_state(tmp_path / "tasks") == (commit, False)
    assert catalogue_state(tmp_path / "tasks" / "suite.toml") == (commit, False)
    (tmp_path / "elsewhere").write_text("")
    assert catalogue_state(tmp_path / "tasks") == (commit, False)
    (tmp_path / "tasks" / "new").write_text("")
    assert catalogue_state(tmp_path / "tasks") == (commit, True)
