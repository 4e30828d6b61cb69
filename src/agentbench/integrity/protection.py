"""Drops tests, their configuration and files that run before them from an agent's change.

pytest's tables in shared files are restored. The search accepts more forms of tables than any
single parser, so that it finds tables that only pytest's parser reads.
"""

import configparser
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from msgspec import Struct

from agentbench.core.files import FileContent
from agentbench.integrity.extraction import WorkspaceChange
from agentbench.integrity.records import (
    BYTE_CODE,
    PROTECTED_BY_TASK,
    TEST_OF_TASK,
    DroppedPath,
)
from agentbench.integrity.tool_caches import ToolCache
from agentbench.integrity.trees import BaseContent, WorkspaceTree

_LARGEST = 1024 * 1024  # characters, since tomlkit is slow
# Exceptions of tomlkit for odd documents, in addition to its own.
_STUMBLES = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
# iniconfig cuts a header at # or ;, so it may find a table where configparser finds none.
_INI_TABLE = re.compile(r"\ufeff?\s*\[\s*(?:tool:)?pytest\s*\]")
_INI_HEADER = re.compile(r"\ufeff?\s*\[")
_CONFIGURATION = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"}
)
_STARTED_WITH_PYTHON = frozenset({"sitecustomize", "usercustomize"})
_PLUGIN_ROOTS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "xdist", "execnet",
     "exceptiongroup", "tomli", "colorama", "typing_extensions", "agentbench_reporter",
     "agentbench_launch", "agentbench_unittest", "agentbench_unittest_loading",
     "agentbench_canonical", "agentbench_canonical_bounds", "agentbench_canonical_readers",
     "agentbench_recorder", "agentbench_time_limits"}
)  # fmt: skip
_IMPORTABLE_SUFFIXES = frozenset({".py", ".so", ".pyd"})
_SHADOWABLE = frozenset(sys.stdlib_module_names) | _PLUGIN_ROOTS
_CONFIGURES = "configuration of the tests"
_AT_START = "runs whenever Python starts"
_SHADOWS = "shadows the standard library, pytest or a plugin"
_SHADOWS_PLUGIN = "shadows pytest or a plugin"
_LOAD_HOOK = b"load_tests"
_TABLES_RESTORED = "its pytest tables are the base's again"
_UNREADABLE = "may configure the tests, and cannot be read"
_OF_CONFIGURATION = frozenset({PROTECTED_BY_TASK, _CONFIGURES, _AT_START, _TABLES_RESTORED})


class UnreadableTablesError(ValueError):
    """A file may configure the tests, but cannot be parsed."""


def restore_pytest_tables(name: str, before: bytes | None, after: bytes | None) -> bytes | None:
    """The agent's file with the base's pytest tables, or `None`.

    Raises:
        UnreadableTablesError: one of the files is damaged or too large.
        KeyError: a file with this name has no pytest tables.
    """
    text = _RESTORERS[name](_decode(before), _decode(after))
    return text.encode() if text is not None else None


def _decode(content: bytes | None) -> str:
    try:
        text = (content or b"").decode()
    except UnicodeDecodeError as error:
        raise UnreadableTablesError(str(error)) from None
    if len(text) > _LARGEST:
        raise UnreadableTablesError(f"{len(text)} characters")
    return text


def _restored_toml(before: str, after: str) -> str | None:
    ours, theirs = _toml(before), _toml(after)
    # Compared as text, since 1, 1.0 and true are equal in Python, but differ for pytest.
    if repr(_table_of(ours)) == repr(_table_of(theirs)):
        return None
    from tomlkit.exceptions import TOMLKitError

    try:
        import tomlkit

        table = _table_of(ours)
        document = tomlkit.parse(after)
        tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
        tool.pop("pytest", None)
        if table is not None:
            tool["pytest"] = table
        text = tomlkit.dumps(document)
        now = _toml(text)
    except (TOMLKitError, *_STUMBLES) as error:
        raise UnreadableTablesError(str(error)) from error
    if repr(_table_of(now)) != repr(_table_of(ours)) or _rest_of(now) != _rest_of(theirs):
        raise UnreadableTablesError("its tables cannot be told apart")
    return text


def _toml(text: str) -> Mapping[str, object]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UnreadableTablesError(str(error)) from None
    if not isinstance(document.get("tool", {}), dict):
        raise UnreadableTablesError("tool is not a table")
    return document


def _table_of(document: Mapping[str, object]) -> object:
    tool = document.get("tool")
    return tool.get("pytest") if isinstance(tool, dict) else None


def _rest_of(document: Mapping[str, object]) -> Mapping[str, object]:
    tool = document.get("tool")
    others = {key: tool[key] for key in tool if key != "pytest"} if isinstance(tool, dict) else {}
    return {**document, "tool": others}


def _restored_ini(before: str, after: str) -> str | None:
    ours, _ = _split(before)
    theirs, rest = _split(after)
    if _non_blank(ours) == _non_blank(theirs):
        return None
    if rest and not rest[-1].endswith("\n"):
        rest.append("\n")
    return "".join([*rest, *ours])


def _split(text: str) -> tuple[list[str], list[str]]:
    """The lines of pytest's tables, and the others, with line ends like iniconfig's."""
    tables: list[str] = []
    rest: list[str] = []
    lines = rest
    for line in text.splitlines(keepends=True):
        if _INI_HEADER.match(line):
            lines = tables if _INI_TABLE.match(line) else rest
        lines.append(line)
    return tables, rest


def _non_blank(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


_RESTORERS: Mapping[str, Callable[[str, str], str | None]] = {
    "pyproject.toml": _restored_toml,
    "setup.cfg": _restored_ini,
}


class ProtectionRules(Struct, frozen=True, kw_only=True):
    """The protected paths: the task's test paths, its patterns, and the hidden tests.

    The files of a verifier script are elsewhere, so the work may be of any kind: then only files
    that would run before or in place of a Python verifier are dropped.
    """

    test_paths: tuple[str, ...]
    patterns: tuple[str, ...]
    hidden: frozenset[PurePosixPath]
    a_script_judges: bool = False
    script_folder: PurePosixPath | None = None
    """The folder of Django's runtests.py: its files run before the tests, and it is importable."""


class JudgedChange(Struct, frozen=True, kw_only=True):
    """The judged change, and the paths that were dropped from it."""

    files: dict[PurePosixPath, FileContent | None]
    emptied: tuple[PurePosixPath, ...]
    dropped: tuple[DroppedPath, ...]
    broken: str = ""
    """The first configuration file that the change made unreadable, and its fault."""
    tool_caches: tuple[ToolCache, ...] = ()  # of the change, and in neither of the others


def protect(
    change: WorkspaceChange, rules: ProtectionRules, base: WorkspaceTree, base_content: BaseContent
) -> JudgedChange:
    """Drop protected paths from a change; configuration files keep the base's pytest tables."""
    roots = {_root_of(path) for path in base}
    files: dict[PurePosixPath, FileContent | None] = {}
    dropped: list[DroppedPath] = []
    for path, file in change.files.items():
        why = _why_dropped(path, rules, roots)
        if (
            why is None
            and not rules.a_script_judges
            and file is not None
            and path.name == "__init__.py"
            and _LOAD_HOOK in file.content
            and _LOAD_HOOK not in (base_content(path) or b"")
        ):
            why = _CONFIGURES  # it changes how unittest selects the tests that it loads from it
        if why is None and not rules.a_script_judges and path.name in _RESTORERS:
            file, why = _with_base_tables(path, file, base_content)
        if why is None or (file is not None and why == _TABLES_RESTORED):
            files[path] = file
        if why is not None:
            tampers = _tampers(path, why, is_new=path not in base)
            dropped.append(DroppedPath(path=path.as_posix(), why=why, tampers=tampers))
    emptied = tuple(
        path for path in change.emptied if _why_dropped(path / "x", rules, roots) is None
    )
    broken = [
        f"the change leaves {path} unreadable: {fault}"
        for path, file in change.files.items()
        if file is not None and path.name in _RESTORERS and not rules.a_script_judges
        # A new one below the root may be data of a test.
        if len(path.parts) == 1 or path in base
        if (fault := _fault_in(path.name, file.content)) is not None
        if _fault_in(path.name, base_content(path) or b"") is None
    ]
    return JudgedChange(
        files=files, emptied=emptied, dropped=tuple(dropped), broken=next(iter(broken), "")
    )


def _fault_in(name: str, content: bytes) -> str | None:
    """Why the tools that install a project cannot read its file; None: they can.

    pytest's own reader differs: it reads only its table of setup.cfg, and an old one takes more
    for TOML than the standard does.
    """
    try:
        text = content.decode()
        if name == "setup.cfg":
            configparser.RawConfigParser().read_string(text)
        else:
            tomllib.loads(text)
    except (ValueError, configparser.Error, RecursionError) as error:  # of UTF-8 and TOML, too
        return f"{' '.join(str(error).split())[:200]}"
    return None


def _why_dropped(path: PurePosixPath, rules: ProtectionRules, roots: set[str]) -> str | None:
    if path in rules.hidden:
        return TEST_OF_TASK
    for root in map(PurePosixPath, rules.test_paths):
        # If the test path is the whole repository, only its test files are protected.
        if path.is_relative_to(root) if root.parts else _is_named_test(path):
            return TEST_OF_TASK
    if any(_matches(path, pattern) for pattern in rules.patterns):
        return PROTECTED_BY_TASK
    if not rules.a_script_judges:
        why, folder = _why_in_pytest(path, roots), rules.script_folder
        if why is None and folder is not None and path.is_relative_to(folder):
            is_shadow = _shadows(path.relative_to(folder), _SHADOWABLE, set())
            why = _CONFIGURES if path.parent == folder else _SHADOWS if is_shadow else None
        return why
    if _starts_with_python(path):
        return _AT_START
    return _SHADOWS_PLUGIN if _shadows(path, _PLUGIN_ROOTS, roots) else None


def _tampers(path: PurePosixPath, why: str, *, is_new: bool) -> bool:
    """Whether a dropped change could have made tests pass; a new test file cannot."""
    if why == TEST_OF_TASK:
        return not is_new or path.name in _CONFIGURATION
    if why in {_SHADOWS, _SHADOWS_PLUGIN}:  # a new `json.py` may be an accident
        return _root_of(path) in _PLUGIN_ROOTS
    return why in _OF_CONFIGURATION or why.startswith(_UNREADABLE)


def _why_in_pytest(path: PurePosixPath, roots: set[str]) -> str | None:
    parts = path.parts
    reasons = {
        _CONFIGURES: path.name in _CONFIGURATION,
        "git's own files": any(part.startswith(".git") for part in parts),
        BYTE_CODE: path.suffix in {".pyc", ".pyo"} or "__pycache__" in parts,
        _AT_START: _starts_with_python(path),
        "could register a plugin": any(p.endswith((".egg-info", ".dist-info")) for p in parts),
        _SHADOWS: _shadows(path, _SHADOWABLE, roots),
    }
    return next((why for why, applies in reasons.items() if applies), None)


def _starts_with_python(path: PurePosixPath) -> bool:
    stems = {part.partition(".")[0] for part in path.parts}
    return path.suffix == ".pth" or not _STARTED_WITH_PYTHON.isdisjoint(stems)


def _shadows(path: PurePosixPath, names: frozenset[str], roots: set[str]) -> bool:
    root = _root_of(path)
    return path.suffix in _IMPORTABLE_SUFFIXES and root in names and root not in roots


def _root_of(path: PurePosixPath) -> str:
    """The name with which a path could be imported as a module or a package."""
    below = path.parts[0] in {"src", "lib"} and len(path.parts) > 1
    return path.parts[1 if below else 0].partition(".")[0]


def is_test_file(file: str) -> bool:
    """Whether a file has the name of a test, or is in a folder of tests."""
    path = PurePosixPath(file)
    return _is_named_test(path) or not {"test", "tests"}.isdisjoint(path.parts)


def _is_named_test(path: PurePosixPath) -> bool:
    return path.name.startswith("test_") or path.stem.endswith("_test")


def _matches(path: PurePosixPath, pattern: str) -> bool:
    """Whether a path matches a pattern of `protected`, where `*` and `**` cross folders."""
    name = path.as_posix()
    if pattern.startswith("**/") and _matches(path, pattern[3:]):
        return True
    if pattern.endswith("/**"):
        return name.startswith(pattern[:-2]) or fnmatchcase(name, pattern)
    return fnmatchcase(name, pattern) or path.is_relative_to(pattern)


def _with_base_tables(
    path: PurePosixPath, file: FileContent | None, base_content: BaseContent
) -> tuple[FileContent | None, str | None]:
    """The agent's version of a configuration file with the base's pytest tables."""
    try:
        content = restore_pytest_tables(
            path.name, base_content(path), file.content if file else None
        )
    except UnreadableTablesError as error:
        return None, f"{_UNREADABLE}: {str(error)[:100]!a}"
    if content is None:
        return file, None
    executable = file.executable if file is not None else False
    return FileContent(content=content, executable=executable), _TABLES_RESTORED
