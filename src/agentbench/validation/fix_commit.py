"""A commit that fixes a bug, divided into its tests and the reference solution."""

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from agentbench.python_source.python_syntax import UNPARSABLE, parse
from agentbench.tasks import git_history
from agentbench.tasks.mirror import Mirror
from agentbench.validation.languages import Language, has_tests, is_named_as_test, language_of

# The usual folders of tests and their data.
_TEST_FOLDERS = frozenset(
    {"test", "tests", "unit_tests", "test_data", "testdata",
     "__tests__", "__mocks__", "__snapshots__"}
)  # fmt: skip
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc"})
_PROSE_FOLDERS = frozenset({"doc", "docs", "changelog", "changelog.d", "changes", "news"})


class FileKind(StrEnum):
    """The kinds of files that a commit changes."""

    TEST = "test"
    SOURCE = "source"
    PROSE = "prose"
    OTHER = "other"  # configuration, data, programs in languages without a runner


def file_kind(path: PurePosixPath, tests: Sequence[str] = ()) -> FileKind:
    """The kind of a file.

    Args:
        path: Its path in the repository.
        tests: Globs over whole paths that match test files; none: the usual names.
    """
    # A package for testing (numpy/testing/) is source; `testing/` at the top holds tests.
    is_test = (
        is_named_as_test(path)
        or path.parts[:-1][:1] == ("testing",)
        or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])
    )
    if any(fnmatchcase(str(path), glob) for glob in tests) if tests else is_test:
        return FileKind.TEST
    folders = {part.lower() for part in path.parts[:-1]}
    if path.suffix.lower() in _PROSE or folders & _PROSE_FOLDERS:
        return FileKind.PROSE
    return FileKind.OTHER if language_of(path) is None else FileKind.SOURCE


@dataclass(frozen=True, slots=True, kw_only=True)
class FixCommit:
    """A commit's change, divided into the hidden tests and the reference solution."""

    commit: git_history.Commit
    base: str
    tests: tuple[PurePosixPath, ...]
    """The added or changed files with tests in them, all of the language that has most of them."""

    tests_patch: bytes
    solution_patch: bytes


def split_fix(
    mirror: Mirror, commit: git_history.Commit, *, tests: Sequence[str] = ()
) -> FixCommit | str:
    """Divide a commit's change; a text result says why it cannot become a task.

    Args:
        mirror: The repository.
        commit: The fix.
        tests: Globs that match test files; none: the usual names.

    Raises:
        InputError: the repository is damaged.
    """
    if commit.base is None:
        return "it is the first commit, so there is no state before it"
    changed = git_history.changed_files(mirror, commit.base, commit.hash)
    kinds = {file.path: file_kind(file.path, tests) for file in changed}
    hidden = [path for path, kind in kinds.items() if kind is FileKind.TEST]
    runnable = [
        path
        for path in hidden
        if has_tests(path, git_history.content_at(mirror, commit.hash, path) or b"")
    ]
    sources = [path for path, kind in kinds.items() if kind is FileKind.SOURCE]
    if not changed:
        return "it changes no file"
    if not sources:
        return "it changes no source except tests"
    if not runnable:
        is_rust = all(language_of(path) is Language.RUST for path in sources)
        beside = ": tests between its source (`#[cfg(test)]`) do not count" if is_rust else ""
        return f"it adds or changes no file of tests{beside}"
    odd = [str(file.path) for file in changed if not file.regular]
    if odd:
        return f"it changes an entry that is not a plain file: {odd[0]}"
    for path in sources:
        before, after = (
            git_history.content_at(mirror, at, path) for at in (commit.base, commit.hash)
        )
        if before is None or after is None:
            break
        shapes = [
            _behaviour_dump(content) if language_of(path) is Language.PYTHON else None
            for content in (before, after)
        ]
        if None in shapes or shapes[0] != shapes[1]:
            break
    else:
        return "its source differs only in comments, docstrings and layout"
    rest = [path for path in kinds if path not in set(hidden)]
    (language, _), *_ = Counter(filter(None, map(language_of, runnable))).most_common()
    return FixCommit(
        commit=commit,
        base=commit.base,
        tests=tuple(path for path in runnable if language_of(path) is language),
        tests_patch=git_history.patch_between(mirror, commit.base, commit.hash, hidden),
        solution_patch=git_history.patch_between(mirror, commit.base, commit.hash, rest),
    )


def _behaviour_dump(content: bytes) -> str | None:
    """A program without docstrings, comments and layout; None if this Python cannot parse it.

    In other languages the proof of the task shows that such a change fixes nothing.
    """
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
