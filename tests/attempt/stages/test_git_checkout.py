import subprocess

import pytest

from agentbench.errors import GitCheckoutError
from agentbench.tasks.task import RepoSource
from tests.fakes.staging import go, small_task, staged
from tests.sandbox.conformance_base import sh


def history(folder) -> tuple[str, str]:
    """A repository of three commits, a tag, a branch and a stray object; its URL and its middle."""

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=Upstream Author", "-c", "user.email=author@upstream.invalid")
        return subprocess.run(
            ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    folder.mkdir()
    git("init", "--quiet", "--initial-branch=trunk")
    for number in range(3):
        (folder / "basket.py").write_text(f"version = {number}\n")
        git("add", ".")
        git("commit", "--quiet", "-m", f"upstream commit {number}")
        if number == 0:
            git("tag", "v1.2")
    git("branch", "the-fix")
    return f"file://{folder}", git("rev-parse", "HEAD~1")


def from_history(tmp_path, **source):
    url, commit = history(tmp_path / "upstream")
    task = small_task(tmp_path / "small")
    key = task.answer_key.replace(solution_patch=b"")
    given = RepoSource(**{"url": url, "commit": commit, **source})
    return task.replace(source=given, answer_key=key)


def test_one_commit_is_left_and_nothing_else_can_be_reached(provider, desk, tmp_path):
    with staged(from_history(tmp_path), provider, desk) as context:
        evidence = go(context, "git_clone", "git_checkout")
        assert evidence.command is not None
        assert evidence.command.ok, evidence.command.stderr
        box = context.sandbox

        def said(script: str) -> str:
            return sh(box, script).stdout

        assert said("cat basket.py") == "version = 1\n"
        assert said("git status --porcelain") == ""
        assert said("git rev-list --all --count") == "1\n"
        assert said("git for-each-ref --format='%(refname)'") == "refs/heads/main\n"
        assert said("git remote; git tag; git stash list; git reflog 2>/dev/null") == ""
        assert said("git fsck --unreachable --no-reflogs 2>/dev/null") == ""
        assert said("ls .git/FETCH_HEAD .git/ORIG_HEAD .git/packed-refs .git/shallow") == ""
        assert "pstream" not in said("git log --format=fuller; git cat-file -p HEAD")
        assert said("git cat-file --batch-all-objects --batch-check | wc -l") == "3\n"
        assert str(tmp_path) not in said("grep -rah . .git")


def test_a_file_that_the_repository_ignores_is_part_of_the_commit(provider, desk, tmp_path):
    files = {".gitignore": "*.dat\n", "needed.dat": "x\n", "tests/test_it.py": ""}
    with staged(small_task(tmp_path / "small", files=files), provider, desk) as context:
        go(context, "git_clone", "git_checkout")
        assert sh(context.sandbox, "git ls-files").stdout.split() == sorted(files)


def test_a_commit_that_the_origin_has_not_is_the_tasks_fault(provider, desk, tmp_path):
    task = from_history(tmp_path, commit="0" * 40)
    with staged(task, provider, desk) as context:
        go(context, "git_clone")
        with pytest.raises(GitCheckoutError, match="has no commit 0000"):
            go(context, "git_checkout")


@pytest.mark.parametrize("name", ["tests_patch", "solution_patch"])
def test_a_patch_that_does_not_fit_the_commit_is_named(provider, desk, tmp_path, name):
    patch = b"--- a/basket.py\n+++ b/basket.py\n@@ -1 +1 @@\n-no such line\n+x\n"
    task = from_history(tmp_path)
    key = task.answer_key.model_copy(update={name: patch})
    with staged(task.replace(answer_key=key), provider, desk) as context:
        go(context, "git_clone")
        with pytest.raises(GitCheckoutError, match=name.replace("_", r"\.")):
            go(context, "git_checkout")
