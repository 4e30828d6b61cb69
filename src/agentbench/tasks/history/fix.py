"""A commit taken for a fix: its tests on one side, what they test on the other."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.syntax import parse
from agentbench.tasks.history.commit import (
    ChangedFile,
    Commit,
    changed_files,
    file_at,
    patch_between,
)
from agentbench.tasks.history.file_kind import FileKind, bears_tests, kind_of
from agentbench.tasks.mirror import Mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A commit's change, divided into what the agent must not see and the reference solution."""

    commit: Commit
    base: str
    tests: tuple[PurePosixPath, ...]
    """Test files that it adds or changes, and that pytest finds tests in."""
    sources: tuple[PurePosixPath, ...]
    tests_patch: bytes
    solution_patch: bytes


def read_fix(mirror: Mirror, commit: Commit, *, tests: Sequence[str] = ()) -> Fix | str:
    """Divide a commit's change; a text says why it cannot be a task.

    Args:
        mirror: The repository.
        commit: The fix.
        tests: Globs that say which files are tests; none: what is usual.

    Raises:
        InputError: the repository is damaged.
    """
    if commit.base is None:
        return "it is the first commit, so that there is no state before it"
    changed = changed_files(mirror, commit.base, commit.hash)
    kinds = {file.path: kind_of(file.path, tests) for file in changed}
    hidden = [path for path, kind in kinds.items() if kind is FileKind.TEST]
    runnable = [path for path in hidden if _bears_tests(mirror, commit, path)]
    sources = [path for path, kind in kinds.items() if kind is FileKind.SOURCE]
    if (why := _unfit(mirror, commit, changed, runnable, sources)) is not None:
        return why
    rest = [path for path in kinds if path not in set(hidden)]
    return Fix(
        commit=commit,
        base=commit.base,
        tests=tuple(runnable),
        sources=tuple(sources),
        tests_patch=patch_between(mirror, commit.base, commit.hash, hidden),
        solution_patch=patch_between(mirror, commit.base, commit.hash, rest),
    )


def _unfit(
    mirror: Mirror,
    commit: Commit,
    changed: Sequence[ChangedFile],
    tests: Sequence[PurePosixPath],
    sources: Sequence[PurePosixPath],
) -> str | None:
    if not changed:
        return "it changes no file"
    if not sources:
        return "it changes no Python source beside tests"
    if not tests:
        return "it adds or changes no test"
    odd = [str(file.path) for file in changed if not file.regular]
    if odd:
        return f"it changes what is no plain file: {odd[0]}"
    if not any(_says_something_else(mirror, commit, path) for path in sources):
        return "its source differs in comments, docstrings and layout alone"
    return None


def _bears_tests(mirror: Mirror, commit: Commit, path: PurePosixPath) -> bool:
    if path.suffix != ".py" or path.name == "conftest.py":
        return False
    content = file_at(mirror, commit.hash, path)
    return content is not None and bears_tests(content)


def _says_something_else(mirror: Mirror, commit: Commit, path: PurePosixPath) -> bool:
    assert commit.base is not None
    before, after = (file_at(mirror, at, path) for at in (commit.base, commit.hash))
    if before is None or after is None:
        return True
    shapes = [_shape(content) for content in (before, after)]
    return None in shapes or shapes[0] != shapes[1]


def _shape(content: bytes) -> str | None:
    """A program without what does not run; None where this Python cannot read it."""
    try:
        tree = parse(content)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_text(body[0]):
                del body[0]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
