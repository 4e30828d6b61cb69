from pathlib import PurePosixPath

import pytest

from agentbench.errors import InputError
from agentbench.importers.release import release_task as difference_module
from agentbench.importers.release.release_task import changed_test_names, fix_between
from agentbench.tasks.git_history import apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource
from tests.importers.release.local_index import NEW, OLD
from tests.validation.environment.trees import write_tree


def between(tmp_path, before, after):
    (tmp_path / "scratch").mkdir()
    old, new = write_tree(tmp_path / "old", before), write_tree(tmp_path / "new", after)
    return fix_between(old, new, tmp_path / "scratch")


def test_tests_are_on_one_side_and_the_rest_on_the_other(tmp_path):
    fix = between(tmp_path, OLD, NEW)
    assert fix.tests == (PurePosixPath("test_demo.py"),)
    assert b"test_demo.py" not in fix.solution_patch
    assert b"demo.py" in fix.solution_patch
    assert b"\n--- a/demo.py" not in fix.tests_patch


def test_both_patches_apply_to_the_older_files(tmp_path):
    odd = {"crlf.txt": b"a\r\nb\r\n", "latin.py": b"x = 'Jos\xe9'\n", "picture.png": b"\0\1\2"}
    new = {"crlf.txt": b"a\r\nc\r\n", "latin.py": b"x = 'Jos\xe9!'\n", "picture.png": b"\0\3\2"}
    fix = between(tmp_path, {**OLD, **odd}, {**NEW, **new})
    mirror = Mirrors(tmp_path / "mirrors").of(RepoSource(files=tmp_path / "old"))
    files = apply_patch_to_commit(fix.solution_patch, mirror)
    made = {str(path): file.content for path, file in files.items() if file is not None}
    assert made["picture.png"] == b"\0\3\2"
    assert made["crlf.txt"] == b"a\r\nc\r\n"
    assert made["latin.py"] == b"x = 'Jos\xe9!'\n"
    assert apply_patch_to_commit(fix.tests_patch, mirror)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "the newer release changes no file"),
        ({"README": "new"}, "the newer release changes no Python source"),
        ({"demo.py": NEW["demo.py"]}, "the newer release adds or changes no test"),
    ],
)
def test_a_difference_that_makes_no_task_is_said(tmp_path, changed, said):
    with pytest.raises(InputError, match=said):
        between(tmp_path, OLD, {**OLD, **changed})


def test_a_huge_difference_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(difference_module, "_MAX_PATCH", 100)
    with pytest.raises(InputError, match="MiB of patches"):
        between(tmp_path, OLD, NEW)


def test_the_names_of_added_and_changed_tests_are_read_from_the_patch(tmp_path):
    many = "".join(f"    y = {n}\n" for n in range(20))
    before = f"{OLD['test_demo.py']}\n\ndef test_long():\n{many}    assert 1\n"
    more = "\n\nasync def test_later(x):\n    def helper(): ...\n"
    after = f"{before.replace('assert 1', 'assert 2')}{more}"
    old, new = {**OLD, "test_demo.py": before}, {**NEW, "test_demo.py": after}
    assert changed_test_names(between(tmp_path, old, new)) == ("test_long", "test_later")
