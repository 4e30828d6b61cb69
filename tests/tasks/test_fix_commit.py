from pathlib import PurePosixPath

import pytest

from agentbench.tasks.fix_commit import FileKind, FixCommit, file_kind, has_tests, split_fix
from agentbench.tasks.git_history import find_commit, mirror_of_head
from tests.fakes.staging import mirrors
from tests.tasks.origins import Origin


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("test_a.py", FileKind.TEST),
        ("pkg/test_a.py", FileKind.TEST),
        ("pkg/a_test.py", FileKind.TEST),
        ("conftest.py", FileKind.TEST),
        ("tests/data/input.txt", FileKind.TEST),
        ("pkg/tests/helper.py", FileKind.TEST),
        ("testing/code/test_source.py", FileKind.TEST),
        ("numpy/testing/decorators.py", FileKind.SOURCE),
        ("src/pkg/contest.py", FileKind.SOURCE),
        ("src/pkg/latest.py", FileKind.SOURCE),
        ("pkg/a.pyi", FileKind.SOURCE),
        ("docs/conf.py", FileKind.PROSE),
        ("README.rst", FileKind.PROSE),
        ("changelog.d/12.bugfix", FileKind.PROSE),
        ("setup.cfg", FileKind.OTHER),
        ("src/speed.c", FileKind.OTHER),
    ],
)
def test_file_kind_follows_from_path(path, kind):
    assert file_kind(PurePosixPath(path)) is kind


def test_globs_replace_usual_test_names():
    globs = ("checks/*",)
    assert file_kind(PurePosixPath("checks/a.py"), globs) is FileKind.TEST
    assert file_kind(PurePosixPath("checks/deep/b.py"), globs) is FileKind.TEST
    assert file_kind(PurePosixPath("tests/test_a.py"), globs) is FileKind.SOURCE


@pytest.mark.parametrize(
    ("content", "bears"),
    [
        (b"def test_a():\n    pass\n", True),
        (b"import x\n\nasync def test_a():\n    pass\n", True),
        (b"class TestA:\n    pass\n", True),
        (b"class ParserTests(TestCase):\n    def test_x(self): ...\n", True),
        (b"def make_test():\n    pass\n", False),
        (b"# def test_a\n", False),
        (b"", False),
    ],
)
def test_tests_are_found_by_content(content, bears):
    assert has_tests(content) is bears


def test_a_fix_is_divided_into_hidden_tests_and_the_rest(pocket, head):
    fix = split_fix(head, find_commit(head, pocket.commits["fix"]))
    assert isinstance(fix, FixCommit)
    assert fix.base == pocket.commits["prose"]
    assert fix.tests == (PurePosixPath("tests/test_hidden.py"),)
    assert b"test_hidden.py" in fix.tests_patch
    assert b"basket.py" not in fix.tests_patch
    assert b"basket.py" in fix.solution_patch
    assert b"CHANGES.md" in fix.solution_patch
    assert b"test_hidden.py" not in fix.solution_patch


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("begin", "first commit"),
        ("prose", "no Python source"),
        ("layout", "only in comments, docstrings and layout"),
        ("tests_only", "no Python source"),
        ("source_only", "adds or changes no test"),
    ],
)
def test_rejected_commit_gives_a_reason(pocket, head, name, why):
    message = split_fix(head, find_commit(head, pocket.commits[name]))
    assert isinstance(message, str)
    assert why in message


def test_globs_select_hidden_tests(pocket, head):
    commit = find_commit(head, pocket.commits["fix"])
    assert "no test" in str(split_fix(head, commit, tests=("checks/*",)))


def test_deleted_test_is_not_runnable(tmp_path):
    origin = Origin(tmp_path / "less")
    origin.write("a.py", "A = 1\n")
    origin.write("test_a.py", "def test_a():\n    pass\n")
    origin.commit()
    (origin.path / "test_a.py").unlink()
    origin.write("a.py", "A = 2\n")
    mirror, commit = found(origin)
    assert split_fix(mirror, commit) == "it adds or changes no test"


def test_helper_file_is_no_test(tmp_path):
    origin = Origin(tmp_path / "used")
    origin.write("a.py", "A = 1\n")
    origin.write("tests/fakes.py", "def make():\n    pass\n")
    origin.commit()
    origin.write("a.py", "A = 2\n")
    origin.write("tests/fakes.py", "def make():\n    return 1\n")
    origin.write("tests/conftest.py", "def test_it():\n    return 1\n")
    mirror, commit = found(origin)
    assert split_fix(mirror, commit) == "it adds or changes no test"


def test_links_are_refused(tmp_path):
    origin = Origin(tmp_path / "linked")
    origin.write("a.py", "A = 1\n")
    origin.commit()
    origin.write("a.py", "A = 2\n")
    origin.write("test_a.py", "def test_a():\n    pass\n")
    (origin.path / "b.py").symlink_to("a.py")
    mirror, commit = found(origin)
    assert split_fix(mirror, commit) == "it changes an entry that is not a plain file: b.py"


def test_unparsable_source_may_be_a_fix(tmp_path):
    origin = Origin(tmp_path / "old")
    origin.write("a.py", "print 'a'\n")
    origin.commit()
    origin.write("a.py", "print 'b'\n")
    origin.write("test_a.py", "def test_a():\n    pass\n")
    mirror, commit = found(origin)
    assert isinstance(split_fix(mirror, commit), FixCommit)


def found(origin):
    commit = origin.commit()
    mirror = mirror_of_head(origin.url, mirrors())
    return mirror, find_commit(mirror, commit)
