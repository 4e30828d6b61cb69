import os
import subprocess

from agentbench.core.host import available_cpus, host_facts
from agentbench.tasks.host_git import catalogue_state


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


def test_the_commit_of_the_catalogue_is_told_and_whether_it_was_changed(tmp_path):
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@y")
        result = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return result.stdout.strip()

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
