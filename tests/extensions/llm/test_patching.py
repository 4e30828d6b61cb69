"""Patches are applied by real git."""

import subprocess
from pathlib import Path

import pytest

from agentbench.scoring.evidence import Ending
from tests.extensions.llm.conftest import Ended, called

GOOD = "--- a/code.py\n+++ b/code.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1\n"
NEW = "--- /dev/null\n+++ b/new/file.py\n@@ -0,0 +1 @@\n+z = 1\n"


@pytest.fixture
def code(sandbox):
    """A file in a repository."""
    folder = Path(sandbox.workspace)
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "code.py").write_text("x = 1\ny = 1\n")
    return folder / "code.py"


@pytest.mark.parametrize(
    "patch",
    [
        GOOD,
        GOOD.rstrip("\n"),
        GOOD.replace("a/code", "code").replace("b/code", "code"),
        GOOD.replace("-1,2 +1,2", "-1,9 +1,7"),
        GOOD.replace("-1,2 +1,2", "-71,2 +71,2"),
        f"diff --git a/code.py b/code.py\nindex 1..2 100644\n{GOOD}",
    ],
)
def test_a_patch_is_applied_even_if_its_counts_or_prefixes_are_off(sandbox, code, patch):
    reply = called(sandbox, "apply_patch", patch=patch)
    assert not reply.failed, reply.text
    assert reply.text == "applied; lines added and removed: code.py +1 -1"
    assert code.read_text() == "x = 2\ny = 1\n"


def test_several_files_are_changed_by_one_patch(sandbox, code):
    reply = called(sandbox, "apply_patch", patch=GOOD + NEW)
    assert reply.text.endswith("code.py +1 -1, new/file.py +1 -0")
    assert (code.parent / "new" / "file.py").read_text() == "z = 1\n"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (GOOD.replace("x = 1", "x = 7"), "patch failed: code.py:1"),
        (NEW + GOOD.replace("x = 1", "x = 7"), "patch failed: code.py:1"),
        (GOOD.replace("code.py", "nowhere.py"), "nowhere.py: No such file"),
        ("not a patch", "No valid patches in input"),
        (GOOD.replace("/code.py", "/../beside.py"), "invalid path '../beside.py'"),
        (GOOD.replace("/code.py", "/link/beside.py"), "beyond a symbolic link"),
        (NEW.replace("b/new/file.py", "b/../../file.py"), "invalid path"),
        (NEW.replace("b/new/file.py", "b/.git/hooks/post-commit"), "invalid path"),
        (NEW.replace("b/new/file.py", "b/link/file.py"), "beyond a symbolic link"),
    ],
)
def test_what_does_not_apply_changes_nothing_and_git_says_why(sandbox, code, patch, told):
    (code.parent / "link").symlink_to("..")
    beside = code.parents[1] / "beside.py"
    beside.write_text("x = 1\ny = 1\n")
    reply = called(sandbox, "apply_patch", patch=patch)
    assert reply.failed
    assert reply.text.startswith("nothing was changed: ")
    assert told in reply.text
    assert code.read_text() == "x = 1\ny = 1\n"
    assert sorted(file.name for file in code.parent.iterdir()) == [".git", "code.py", "link"]
    assert not (code.parents[1] / "file.py").exists()
    assert beside.read_text() == "x = 1\ny = 1\n"


def test_an_end_without_words_is_told_as_it_is():
    reply = called(Ended(Ending.OUT_OF_MEMORY), "apply_patch", patch=GOOD)
    assert (reply.failed, reply.text) == (
        True,
        "nothing was changed: git apply ended in out_of_memory",
    )
