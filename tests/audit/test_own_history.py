"""A `.git` in a task's `repo/` that holds the fix, as people leave it there."""

import subprocess

import pytest

from agentbench.audit.task_rules import history_in_base
from tests.audit.conftest import write_task
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN

MORE = FIXED + "\n\ndef dearest(prices):\n    return max(prices)\n"


def git(repo, *arguments):
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    command = ["git", *names, "-C", str(repo), *arguments]
    subprocess.run(command, check=True, capture_output=True)


def commit(repo, text, *options):
    (repo / "basket.py").write_text(text)
    git(repo, "add", "basket.py")
    git(repo, "commit", "-q", "-m", "x", *options)


def fix_ahead(repo):
    commit(repo, BUGGY)
    commit(repo, FIXED)
    (repo / "basket.py").write_text(BUGGY)


def fix_on_a_branch_with_more(repo):
    commit(repo, BUGGY)
    git(repo, "checkout", "-q", "-b", "fix")
    commit(repo, MORE)
    git(repo, "checkout", "-q", "main")


def fix_reset_away(repo):
    commit(repo, BUGGY)
    commit(repo, MORE)
    git(repo, "reset", "-q", "--hard", "HEAD~1")


def fix_staged_only(repo):
    commit(repo, BUGGY)
    (repo / "basket.py").write_text(FIXED)
    git(repo, "add", "basket.py")
    (repo / "basket.py").write_text(BUGGY)


def hidden_tests_ahead(repo):
    commit(repo, BUGGY)
    (repo / "tests" / "other.py").write_text(HIDDEN)
    git(repo, "add", "tests")
    git(repo, "commit", "-q", "-m", "tests")
    (repo / "tests" / "other.py").unlink()


@pytest.fixture
def found(facts_of, tmp_path):
    """What the rule says about a task whose history a function makes; `inner` is its folder."""

    def found(make, inner=""):
        repo = write_task(tmp_path / "small") / "repo" / inner
        repo.mkdir(exist_ok=True)
        if make is not None:
            (repo / "tests").mkdir(exist_ok=True)
            git(repo, "init", "-q")
            make(repo)
        return [(hit.where, hit.what.partition(":")[0]) for hit in history_in_base(facts_of())]

    return found


@pytest.mark.parametrize(
    "make", [fix_ahead, fix_on_a_branch_with_more, fix_reset_away, fix_staged_only]
)
def test_history_with_the_fix_is_a_warning(found, make):
    assert found(make) == [("repo/.git", "its history holds basket.py after the fix")]


def test_history_with_hidden_tests_is_a_warning(found):
    what = "its history holds tests/test_hidden.py after the fix"
    assert found(hidden_tests_ahead) == [("repo/.git", what)]


def test_history_in_inner_folder_is_a_warning(found):
    what = "its history holds basket.py after the fix"
    assert found(fix_ahead, "inner") == [("repo/inner/.git", what)]


@pytest.mark.parametrize("make", [None, lambda repo: commit(repo, BUGGY), lambda _: None])
def test_history_without_the_fix_is_no_finding(found, make):
    assert found(make) == []
