"""What of an agent's change is dropped before it is judged.

Tests, their configuration, and what could poison the interpreter. Recorded, never in silence;
information and not guilt.
"""

import configparser
import io
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import tomlkit
from tomlkit.exceptions import TOMLKitError

from agentbench.schema import Schema
from agentbench.stages.verification.extraction import Change
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
_SHADOWABLE = frozenset(sys.stdlib_module_names) | _PLUGIN_ROOTS


class Dropped(Schema):
    """A path of the change that was not judged, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """Which paths belong to the judge: the task's test paths, its patterns, the hidden tests."""

    test_paths: tuple[str, ...]
    patterns: tuple[str, ...]
    hidden: frozenset[PurePosixPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """The change as it is judged, and what was dropped from it."""

    files: dict[PurePosixPath, PatchedFile | None]
    emptied: tuple[PurePosixPath, ...]
    dropped: tuple[Dropped, ...]


def protect(
    change: Change, protection: Protection, base: Tree, base_content: BaseContent
) -> JudgedChange:
    """Drop from a change what the judge owns; configuration keeps the base's pytest tables."""
    roots = {path.parts[0].partition(".")[0] for path in base.entries}
    kept: dict[PurePosixPath, PatchedFile | None] = {}
    dropped: list[Dropped] = []
    for path, file in change.files.items():
        why = _why_dropped(path, protection, roots)
        if why is None and path.name in _MERGED:
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
    if path.name in _CONFIGURATION:
        return "configuration of the tests"
    if any(part.startswith(".git") for part in path.parts):
        return "git's own files"
    if path.suffix in {".pyc", ".pyo"} or "__pycache__" in path.parts:
        return "byte-code"
    return _why_poisonous(path, roots)


def _why_poisonous(path: PurePosixPath, roots: set[str]) -> str | None:
    stems = {part.partition(".")[0] for part in path.parts}
    if path.suffix == ".pth" or not _STARTED_WITH_PYTHON.isdisjoint(stems):
        return "runs whenever Python starts"
    if any(part.endswith((".egg-info", ".dist-info")) for part in path.parts):
        return "could register a plugin"
    parts = (
        path.parts[1:] if path.parts[0] in {"src", "lib"} and len(path.parts) > 1 else path.parts
    )
    root = parts[0].partition(".")[0]
    importable = len(parts) > 1 or path.suffix in {".py", ".so", ".pyd"}
    if importable and root in _SHADOWABLE and root not in roots:
        return "shadows the standard library, pytest or a plugin"
    return None


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
    if pattern.endswith("/**"):
        return name.startswith(pattern[:-2]) or fnmatchcase(name, pattern)
    return fnmatchcase(name, pattern) or path.is_relative_to(pattern)


_TABLES_RESTORED = "its pytest tables are the base's again"


def _merged(
    path: PurePosixPath, file: PatchedFile | None, base_content: BaseContent
) -> tuple[PatchedFile | None, str | None]:
    """A configuration file with the agent's content and the base's pytest tables."""
    base = base_content(path)
    before = base.decode("utf-8", "replace") if base is not None else ""
    after = file.content.decode("utf-8", "replace") if file is not None else ""
    merge = _MERGED[path.name]
    try:
        text = merge(before, after)
    except (
        TOMLKitError,
        tomllib.TOMLDecodeError,
        configparser.Error,
        TypeError,
        KeyError,
    ) as error:
        return None, f"cannot be read ({type(error).__name__}), and may configure the tests"
    if text is None:
        return file, None
    executable = file.executable if file is not None else False
    return PatchedFile(content=text.encode(), executable=executable), _TABLES_RESTORED


def _merge_pyproject(before: str, after: str) -> str | None:
    ours = tomllib.loads(before).get("tool", {}).get("pytest")
    theirs = tomllib.loads(after).get("tool", {}).get("pytest")
    if ours == theirs:
        return None
    document = tomlkit.parse(after)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    tool.pop("pytest", None)
    if ours is not None:
        tool["pytest"] = ours
    return tomlkit.dumps(document)


def _merge_setup_cfg(before: str, after: str) -> str | None:
    ours, theirs = _read_ini(before), _read_ini(after)
    sections = ("tool:pytest", "pytest")
    if all(_section(ours, name) == _section(theirs, name) for name in sections):
        return None
    for name in sections:
        theirs.remove_section(name)
        kept = _section(ours, name)
        if kept is not None:
            theirs[name] = kept
    buffer = io.StringIO()
    theirs.write(buffer)
    return buffer.getvalue()


def _read_ini(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return parser


def _section(parser: configparser.RawConfigParser, name: str) -> dict[str, str] | None:
    return dict(parser.items(name)) if parser.has_section(name) else None


_UNREADABLE = (
    TOMLKitError,
    tomllib.TOMLDecodeError,
    configparser.Error,
    AttributeError,
    TypeError,
    KeyError,
)
_MERGED: dict[str, Callable[[str, str], str | None]] = {
    "pyproject.toml": _merge_pyproject,
    "setup.cfg": _merge_setup_cfg,
}
