import pytest

from agentbench.importers.swebench.conversion import reverse_bug_patch
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource
from tests.tasks.origins import Origin


@pytest.fixture
def origin(tmp_path):
    made = Origin(tmp_path / "origin")
    made.write("code.py", "right\n")
    made.write("tests/test_a.py", "a\n")
    made.write("tests/test_b.py", "b\n")
    made.commit()
    return made


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def mirror(origin, mirrors):
    commit = origin.git("rev-parse", "HEAD")
    return mirrors.of(RepoSource(url=origin.url, commit=commit))


def bug(origin):
    origin.write("code.py", "wrong\n")
    origin.git("add", "--all")
    return origin.diff()


def test_the_state_has_the_bug_and_lacks_the_tests_that_show_it(origin, mirror):
    with reverse_bug_patch(bug(origin), mirror, ["tests/test_a.py"]) as turned:
        files = {
            str(path.relative_to(turned.folders["repo"])): path.read_text()
            for path in turned.folders["repo"].rglob("*")
            if path.is_file()
        }
    assert files == {"code.py": "wrong\n", "tests/test_b.py": "b\n"}


def test_both_patches_apply_to_that_state_and_give_the_right_one(origin, mirror, mirrors):
    with reverse_bug_patch(bug(origin), mirror, ["tests/test_a.py"]) as turned:
        base = mirrors.of(RepoSource(files=turned.folders["repo"]))
        solution = apply_patch_to_commit(turned.solution_patch, base)
        tests = apply_patch_to_commit(turned.tests_patch, base)
    assert {str(path): file.content for path, file in solution.items()} == {"code.py": b"right\n"}
    assert {str(path): file.content for path, file in tests.items()} == {"tests/test_a.py": b"a\n"}


def test_a_patch_that_does_not_fit_says_what_git_says(origin, mirror):
    patch = bug(origin).replace(b"-right", b"-left")
    with (
        pytest.raises(PatchDoesNotApplyError, match=r"patch failed: code\.py:1"),
        reverse_bug_patch(patch, mirror, []),
    ):
        pass


def test_tests_that_are_not_in_the_project_are_named(origin, mirror):
    with (
        pytest.raises(PatchDoesNotApplyError, match=r"tests/gone\.py"),
        reverse_bug_patch(bug(origin), mirror, ["tests/gone.py"]),
    ):
        pass
