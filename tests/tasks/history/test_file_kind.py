from pathlib import PurePosixPath

import pytest

from agentbench.tasks.history.file_kind import FileKind, is_runnable_test, kind_of


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
    assert kind_of(PurePosixPath(path)) is kind


def test_globs_take_the_place_of_what_is_usual():
    globs = ("checks/*",)
    assert kind_of(PurePosixPath("checks/a.py"), globs) is FileKind.TEST
    assert kind_of(PurePosixPath("checks/deep/b.py"), globs) is FileKind.TEST
    assert kind_of(PurePosixPath("tests/test_a.py"), globs) is FileKind.SOURCE


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("tests/test_a.py", True),
        ("tests/conftest.py", False),
        ("tests/__init__.py", False),
        ("tests/data.json", False),
        ("src/a.py", False),
    ],
)
def test_pytest_finds_tests_in_test_files_alone(path, runs):
    assert is_runnable_test(PurePosixPath(path)) is runs
