from pathlib import Path

import pytest

from agentbench.errors import GitCloneError
from agentbench.tasks.task import RepoSource
from tests.fakes.staging import go, small_task, staged


def test_the_workspace_gets_the_one_commit_and_no_history(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small"), provider, desk) as context:
        evidence = go(context, "git_clone")
        assert evidence.command is not None
        assert evidence.command.ok
        git = Path(context.sandbox.workspace) / ".git"
        assert context.clone.mirror is not None
        assert context.clone.mirror.commit in sh(context, f"cat {git}/FETCH_HEAD")
        assert sh(context, "git rev-list --count FETCH_HEAD").strip() == "1"


def test_an_origin_that_is_not_there_is_said_without_its_password(provider, desk, tmp_path):
    task = small_task(tmp_path / "small")
    gone = RepoSource(url=f"file://me:secret@localhost{tmp_path}/gone.git", commit="0" * 40)
    with staged(task.replace(source=gone), provider, desk) as context:
        with pytest.raises(GitCloneError) as caught:
            go(context, "git_clone")
        assert "secret" not in str(caught.value)


def test_what_git_prints_goes_to_the_log(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small"), provider, desk) as context:
        evidence = go(context, "git_clone")
        assert evidence.command is not None
        assert desk.printed == (evidence.command.stdout + evidence.command.stderr).encode()


def sh(context, script: str) -> str:
    from tests.sandbox.conformance_base import sh as run

    return run(context.sandbox, script).stdout
