"""A commit that fixes a bug, divided into its tests and the reference solution."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from agentbench.python_source.python_syntax import UNPARSABLE, parse
from agentbench.tasks import git_history
from agentbench.tasks.mirror import Mirror

# pytest's own defaults for files, and the usual folders of tests and their data.
_TEST_FILES = ("test_*.py", "*_test.py", "tests.py", "conftest.py")
_TEST_FOLDERS = frozenset({"test", "tests", "unit_tests", "test_data", "testdata"})
_DEFINES_TESTS = re.compile(rb"^\s*(async\s+)?def test|^class \w*Test", re.MULTILINE)
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc"})
_PROSE_FOLDERS = frozenset({"doc", "docs", "changelog", "changelog.d", "changes", "news"})


class FileKind(StrEnum):
    """The kinds of files that a commit changes."""

    TEST = "test"
    SOURCE = "source"
    PROSE = "prose"
    OTHER = "other"  # configuration, data, programs in other languages


def file_kind(path: PurePosixPath, tests: Sequence[str] = ()) -> FileKind:
    """The kind of a file.

    Args:
        path: Its path in the repository.
        tests: Globs over whole paths that match test files; none: pytest's usual names.
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
    # A package for testing (numpy/testing/) is source; `testing/` at the top holds tests.
    folders = path.parts[:-1]
    return folders[:1] == ("testing",) or not _TEST_FOLDERS.isdisjoint(folders)


def has_tests(content: bytes) -> bool:
    """Whether pytest would find tests in a Python file that it is given by name."""
    return _DEFINES_TESTS.search(content) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixCommit:
    """A commit's change, divided into the hidden tests and the reference solution."""

    commit: git_history.Commit
    base: str
    tests: tuple[PurePosixPath, ...]  # the added or changed test files in which pytest finds tests
    tests_patch: bytes
    solution_patch: bytes


def split_fix(
    mirror: Mirror, commit: git_history.Commit, *, tests: Sequence[str] = ()
) -> FixCommit | str:
    """Divide a commit's change; a text result says why it cannot become a task.

    Args:
        mirror: The repository.
        commit: The fix.
        tests: Globs that match test files; none: pytest's usual names.

    Raises:
        InputError: the repository is damaged.
    """
    if commit.base is None:
        return "it is the first commit, so there is no state before it"
    changed = git_history.changed_files(mirror, commit.base, commit.hash)
    kinds = {file.path: file_kind(file.path, tests) for file in changed}
    hidden = [path for path, kind in kinds.items() if kind is FileKind.TEST]
    runnable = [path for path in hidden if _is_runnable_test_file(mirror, commit, path)]
    sources = [path for path, kind in kinds.items() if kind is FileKind.SOURCE]
    if (why := _rejection_reason(mirror, commit, changed, runnable, sources)) is not None:
        return why
    rest = [path for path in kinds if path not in set(hidden)]
    return FixCommit(
        commit=commit,
        base=commit.base,
        tests=tuple(runnable),
        tests_patch=git_history.patch_between(mirror, commit.base, commit.hash, hidden),
        solution_patch=git_history.patch_between(mirror, commit.base, commit.hash, rest),
    )


def _rejection_reason(
    mirror: Mirror,
    commit: git_history.Commit,
    changed: Sequence[git_history.ChangedFile],
    tests: Sequence[PurePosixPath],
    sources: Sequence[PurePosixPath],
) -> str | None:
    if not changed:
        return "it changes no file"
    if not sources:
        return "it changes no Python source except tests"
    if not tests:
        return "it adds or changes no test"
    odd = [str(file.path) for file in changed if not file.regular]
    if odd:
        return f"it changes an entry that is not a plain file: {odd[0]}"
    if not any(_changes_behaviour(mirror, commit, path) for path in sources):
        return "its source differs only in comments, docstrings and layout"
    return None


def _is_runnable_test_file(mirror: Mirror, commit: git_history.Commit, path: PurePosixPath) -> bool:
    if path.suffix != ".py" or path.name == "conftest.py":
        return False
    content = git_history.content_at(mirror, commit.hash, path)
    return content is not None and has_tests(content)


def _changes_behaviour(mirror: Mirror, commit: git_history.Commit, path: PurePosixPath) -> bool:
    assert commit.base is not None
    before, after = (git_history.content_at(mirror, at, path) for at in (commit.base, commit.hash))
    if before is None or after is None:
        return True
    shapes = [_behaviour_dump(content) for content in (before, after)]
    return None in shapes or shapes[0] != shapes[1]


def _behaviour_dump(content: bytes) -> str | None:
    """A program without docstrings, comments and layout; None if this Python cannot parse it."""
    try:
        tree = parse(content)
        for node in ast.walk(tree):
            match getattr(node, "body", None):
                case [ast.Expr(value=ast.Constant(value=str())), *_] as body:
                    del body[0]
                case _:
                    pass
        return ast.dump(tree)
    except UNPARSABLE:
        return None
