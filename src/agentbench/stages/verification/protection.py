"""What of an agent's change is dropped before it is judged.

Tests, their configuration, and what could poison the interpreter. Recorded, never in silence;
information and not guilt.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from agentbench.stages.verification.dropped import Dropped
from agentbench.stages.verification.extraction import Change
from agentbench.stages.verification.pytest_tables import (
    UnreadableTablesError,
    may_hold_tables,
    restored,
)
from agentbench.stages.verification.tool_caches import ToolCache
from agentbench.stages.verification.tree import BaseContent, Tree
from agentbench.tasks.patched_file import PatchedFile

_CONFIGURATION = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"}
)
_STARTED_WITH_PYTHON = frozenset({"sitecustomize", "usercustomize"})
_PLUGIN_ROOTS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "xdist", "execnet",
     "exceptiongroup", "tomli", "colorama", "typing_extensions", "agentbench_reporter",
     "agentbench_launch"}
)  # fmt: skip
_IMPORTABLE = frozenset({".py", ".so", ".pyd"})
_SHADOWABLE = frozenset(sys.stdlib_module_names) | _PLUGIN_ROOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """Which paths belong to the judge: the task's test paths, its patterns, the hidden tests.

    Where a script judges, whose tests lie elsewhere, the work may be of any kind: then only what
    would run before or in place of a verifier in Python is dropped.
    """

    test_paths: tuple[str, ...]
    patterns: tuple[str, ...]
    hidden: frozenset[PurePosixPath]
    a_script_judges: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """The change as it is judged, and what was dropped from it."""

    files: dict[PurePosixPath, PatchedFile | None]
    emptied: tuple[PurePosixPath, ...]
    dropped: tuple[Dropped, ...]
    tool_caches: tuple[ToolCache, ...] = ()  # of the change, and in none of these


def protect(
    change: Change, protection: Protection, base: Tree, base_content: BaseContent
) -> JudgedChange:
    """Drop from a change what the judge owns; configuration keeps the base's pytest tables."""
    roots = {_root_of(path) for path in base.entries}
    kept: dict[PurePosixPath, PatchedFile | None] = {}
    dropped: list[Dropped] = []
    for path, file in change.files.items():
        why = _why_dropped(path, protection, roots)
        if why is None and not protection.a_script_judges and may_hold_tables(path.name):
            file, why = _merged(path, file, base_content)
        if why is None or (file is not None and why == _TABLES_RESTORED):
            kept[path] = file
        if why is not None:
            dropped.append(Dropped(path=path.as_posix(), why=why))
    emptied = tuple(
        path for path in change.emptied if _why_dropped(path / "x", protection, roots) is None
    )
    return JudgedChange(files=kept, emptied=emptied, dropped=tuple(dropped))


def _why_dropped(path: PurePosixPath, protection: Protection, roots: set[str]) -> str | None:
    if path in protection.hidden or _is_under(path, protection.test_paths):
        return "a test of the task"
    if any(_matches(path, pattern) for pattern in protection.patterns):
        return "protected by the task"
    return (_why_before_a_script if protection.a_script_judges else _why_in_pytest)(path, roots)


def _why_in_pytest(path: PurePosixPath, roots: set[str]) -> str | None:
    if path.name in _CONFIGURATION:
        return "configuration of the tests"
    if any(part.startswith(".git") for part in path.parts):
        return "git's own files"
    if path.suffix in {".pyc", ".pyo"} or "__pycache__" in path.parts:
        return "byte-code"
    return _why_poisonous(path, roots)


def _why_before_a_script(path: PurePosixPath, roots: set[str]) -> str | None:
    if _starts_with_python(path):
        return "runs whenever Python starts"
    root = _root_of(path)
    if path.suffix in _IMPORTABLE and root in _PLUGIN_ROOTS and root not in roots:
        return "shadows pytest or a plugin"
    return None


def _starts_with_python(path: PurePosixPath) -> bool:
    stems = {part.partition(".")[0] for part in path.parts}
    return path.suffix == ".pth" or not _STARTED_WITH_PYTHON.isdisjoint(stems)


def _why_poisonous(path: PurePosixPath, roots: set[str]) -> str | None:
    if _starts_with_python(path):
        return "runs whenever Python starts"
    if any(part.endswith((".egg-info", ".dist-info")) for part in path.parts):
        return "could register a plugin"
    root = _root_of(path)
    if path.suffix in _IMPORTABLE and root in _SHADOWABLE and root not in roots:
        return "shadows the standard library, pytest or a plugin"
    return None


def _root_of(path: PurePosixPath) -> str:
    """The name that a path would be imported by, were it a module or in a package."""
    below = path.parts[0] in {"src", "lib"} and len(path.parts) > 1
    return path.parts[1 if below else 0].partition(".")[0]


def _is_under(path: PurePosixPath, prefixes: Sequence[str]) -> bool:
    for prefix in prefixes:
        root = PurePosixPath(prefix)
        if root.parts and path.is_relative_to(root):
            return True
        if not root.parts and (path.name.startswith("test_") or path.stem.endswith("_test")):
            return True  # the whole repository is the test path: its test files are
    return False


def _matches(path: PurePosixPath, pattern: str) -> bool:
    """Whether a path fits a pattern of `protected`: `**` crosses folders, `*` may too."""
    name = path.as_posix()
    if pattern.startswith("**/") and _matches(path, pattern[3:]):
        return True
    if pattern.endswith("/**"):
        return name.startswith(pattern[:-2]) or fnmatchcase(name, pattern)
    return fnmatchcase(name, pattern) or path.is_relative_to(pattern)


_TABLES_RESTORED = "its pytest tables are the base's again"


def _merged(
    path: PurePosixPath, file: PatchedFile | None, base_content: BaseContent
) -> tuple[PatchedFile | None, str | None]:
    """A configuration file with the agent's content and the base's pytest tables."""
    try:
        content = restored(path.name, base_content(path), file.content if file else None)
    except UnreadableTablesError as error:
        return None, f"may configure the tests, and cannot be read: {str(error)[:100]!a}"
    if content is None:
        return file, None
    executable = file.executable if file is not None else False
    return PatchedFile(content=content, executable=executable), _TABLES_RESTORED
