import pytest

from agentbench.validation.environment.found_tests import (
    FoundTests,
    find_tests,
    is_collected_by_default,
)
from tests.validation.environment.trees import write_tree


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("test_a.py", True),
        ("x/a_test.py", True),
        ("tests.py", False),
        ("x/contest.py", False),
        ("test_a.txt", False),
    ],
)
def test_test_files_are_found_by_name(name, is_one):
    assert is_collected_by_default(name) is is_one


def test_imports_of_other_distributions_are_found(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "src/pkg/__init__.py": "import numpy",
            "tests/helper.py": "import yaml",
            "tests/test_a.py": (
                "import os, attr\nfrom pkg import x\nfrom . import y\nimport helper\n"
                "from freezegun.api import z\n"
            ),
        },
    )
    assert find_tests(tree).imports == {"attr", "freezegun", "yaml"}


def test_optional_imports_are_ignored(tmp_path):
    text = """
import sys
try:
    import numpy
except ImportError:
    numpy = None
if sys.platform == "win32":
    import winonly
def test():
    import lazily
"""
    assert find_tests(write_tree(tmp_path, {"test_a.py": text})).imports == frozenset()


def test_fixtures_marks_and_arguments_are_found(tmp_path):
    text = """
import pytest
@pytest.fixture
def own(tmp_path): ...
@pytest.mark.asyncio
async def test_a(own, mocker): ...
def helper(argument): ...
"""
    found = find_tests(write_tree(tmp_path, {"tests/test_a.py": text}))
    assert found.fixtures == {"own"}
    assert found.marks == {"asyncio"}
    assert found.arguments == {"own", "mocker", "tmp_path"}


@pytest.mark.parametrize(
    ("files", "paths"),
    [
        (("tests/test_a.py", "tests/sub/test_b.py"), ("tests",)),
        (("test_a.py", "test_b.py"), ("test_a.py", "test_b.py")),
        (("pkg/tests/test_a.py", "pkg/other/test/test_b.py"), ("pkg/tests", "pkg/other/test")),
        (("pkg/test_a.py",), ("pkg/test_a.py",)),
        (("tests/test_a.py", "tests/testb.py"), ("tests", "tests/testb.py")),
        (("tests.py",), ("tests.py",)),
        ((), ()),
    ],
)
def test_outermost_test_folders_are_arguments(files, paths):
    assert FoundTests(files=files).paths == paths


def test_unparsable_file_is_found_and_not_read(tmp_path):
    found = find_tests(write_tree(tmp_path, {"test_old.py": "import attr\nprint 'two'"}))
    assert found.files == ("test_old.py",)
    assert found.imports == frozenset()


def test_imports_of_other_tests_are_added(tmp_path):
    one = find_tests(write_tree(tmp_path / "one", {"test_a.py": "import attr"}))
    other = find_tests(write_tree(tmp_path / "other", {"test_b.py": "import yaml"}))
    both = one.with_(other)
    assert both.files == ("test_a.py",)
    assert both.imports == {"attr", "yaml"}


def test_files_with_tests_are_found_by_content(tmp_path):
    tree = write_tree(
        tmp_path,
        {
            "pkg/tests/testall.py": "import unittest\nclass AllTests(unittest.TestCase): ...",
            "pkg/tests/helper.py": "def help(): ...",
            "tests.py": "def test_a(): ...",
            "pkg/tests/conftest.py": "def test_x(): ...",
            "pkg/code.py": "def test_of_a_metal(): ...",
        },
    )
    assert find_tests(tree).files == ("tests.py", "pkg/tests/testall.py")
