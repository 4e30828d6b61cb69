from pathlib import PurePosixPath

import pytest

from agentbench.tasks.fix_commit import FileKind, file_kind, has_tests


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
def test_a_path_tells_what_a_file_is_for(path, kind):
    assert file_kind(PurePosixPath(path)) is kind


def test_globs_take_the_place_of_what_is_usual():
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
def test_what_is_in_a_file_tells_whether_pytest_finds_tests(content, bears):
    assert has_tests(content) is bears
