"""What a file of a Python repository is for, told by its path."""

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

# pytest's own defaults for files, and the folders that projects keep tests and their data in.
_TEST_FILES = ("test_*.py", "*_test.py", "tests.py", "conftest.py")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unit_tests", "test_data", "testdata"})
_TESTS_IN_IT = re.compile(rb"^\s*(async\s+)?def test|^class \w*Test", re.MULTILINE)
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc"})
_PROSE_FOLDERS = frozenset({"doc", "docs", "changelog", "changelog.d", "changes", "news"})


class FileKind(StrEnum):
    """What a changed file says about a commit."""

    TEST = "test"
    SOURCE = "source"
    PROSE = "prose"
    OTHER = "other"  # configuration, data, programs in other languages


def kind_of(path: PurePosixPath, tests: Sequence[str] = ()) -> FileKind:
    """The kind of a file.

    Args:
        path: Its path in the repository.
        tests: Globs over whole paths that say which are tests; none: what is usual.
    """
    if any(fnmatchcase(str(path), glob) for glob in tests) if tests else _is_usual_test(path):
        return FileKind.TEST
    folders = {part.lower() for part in path.parts[:-1]}
    if path.suffix.lower() in _PROSE or folders & _PROSE_FOLDERS:
        return FileKind.PROSE
    return FileKind.SOURCE if path.suffix in {".py", ".pyi"} else FileKind.OTHER


def _is_usual_test(path: PurePosixPath) -> bool:
    if any(fnmatchcase(path.name, glob) for glob in _TEST_FILES):
        return True
    # A package that is for testing (numpy/testing/) is source; `testing/` at the top holds tests.
    folders = path.parts[:-1]
    inner = _TEST_FOLDERS - {"testing"}
    return any(
        part in (_TEST_FOLDERS if depth == 0 else inner) for depth, part in enumerate(folders)
    )


def bears_tests(content: bytes) -> bool:
    """Whether a Python file has something that pytest takes for a test when it is given the file.

    pytest collects a file that is named to it whatever its name is.
    """
    return _TESTS_IN_IT.search(content) is not None
