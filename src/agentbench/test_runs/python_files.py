"""The files of a Python project that steer its tests, and that run before or in place of them.

pytest's tables in shared files are restored. The search accepts more forms of tables than any
single parser, so that it finds tables that only pytest's parser reads.
"""

import configparser
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.test_runs.runner import BaseContent, Protected

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
     "exceptiongroup", "tomli", "colorama", "typing_extensions"}
)  # fmt: skip
_IMPORTABLE_SUFFIXES = frozenset({".py", ".so", ".pyd"})
_OWN_PREFIX = "agentbench_"  # of the programs in `mounted`, which are imported by their names
_CONFIGURES = "configuration of the tests"
_AT_START = "runs whenever Python starts"
_SHADOWS = "shadows the standard library, pytest or a plugin"
_SHADOWS_PLUGIN = "shadows pytest or a plugin"
_LOAD_HOOK = b"load_tests"
_TABLES_RESTORED = "its pytest tables are the base's again"
_UNREADABLE = "may configure the tests, and cannot be read"
BYTE_CODE = "byte-code"
"""The reason for which a compiled file is dropped, which honest work leaves as well."""


class PythonScriptFiles:
    """The files that would run before or in place of a verifier script in Python.

    Its own files are elsewhere, so an agent's work may be of any other kind.
    """

    def __init__(self, base: Iterable[PurePosixPath]) -> None:
        self._roots = {_root_of(path) for path in base}

    def why(self, path: PurePosixPath) -> Protected | None:
        if _starts_with_python(path):
            return _protected(path, _AT_START)
        is_plugin = _shadows(path, _is_plugin, self._roots)
        return _protected(path, _SHADOWS_PLUGIN) if is_plugin else None

    def judged(
        self, _path: PurePosixPath, _base: BaseContent, _after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        return None

    def fault_in(self, _path: PurePosixPath, _content: bytes) -> str | None:
        return None

    def configures(self, path: PurePosixPath) -> bool:
        return path.name in _CONFIGURATION

    def is_test(self, path: PurePosixPath) -> bool:
        return _is_named_test(path)


class PythonTestFiles(PythonScriptFiles):
    """The files that steer pytest, unittest and Django's runtests.py."""

    def __init__(
        self, base: Iterable[PurePosixPath], script_folder: PurePosixPath | None = None
    ) -> None:
        """Protect the files of a project.

        Args:
            base: Its files at the base commit.
            script_folder: The folder of Django's runtests.py: its files run before the tests, and
                it is importable.
        """
        super().__init__(base)
        self._script_folder = script_folder

    def why(self, path: PurePosixPath) -> Protected | None:
        parts = path.parts
        reasons = {
            _CONFIGURES: self.configures(path),
            "git's own files": any(part.startswith(".git") for part in parts),
            BYTE_CODE: path.suffix in {".pyc", ".pyo"} or "__pycache__" in parts,
            _AT_START: _starts_with_python(path),
            "could register a plugin": any(p.endswith((".egg-info", ".dist-info")) for p in parts),
            _SHADOWS: _shadows(path, _is_imported, self._roots),
        }
        why = next((why for why, applies in reasons.items() if applies), None)
        folder = self._script_folder
        if why is None and folder is not None and path.is_relative_to(folder):
            if path.parent == folder:
                why = _CONFIGURES
            elif _shadows(path.relative_to(folder), _is_imported, set()):
                why = _SHADOWS
        return None if why is None else _protected(path, why)

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        if path.name == "__init__.py" and after is not None:
            # A package may change how unittest selects the tests that it loads from it.
            is_new = _LOAD_HOOK in after and _LOAD_HOOK not in (base(path) or b"")
            return (None, Protected(_CONFIGURES, tampers=True)) if is_new else None
        if path.name not in _RESTORERS:
            return None
        try:
            content = restore_pytest_tables(path.name, base(path), after)
        except UnreadableTablesError as error:
            return None, Protected(f"{_UNREADABLE}: {str(error)[:100]!a}", tampers=True)
        if content is None:
            return None
        return content, Protected(_TABLES_RESTORED, tampers=True)

    def fault_in(self, path: PurePosixPath, content: bytes) -> str | None:
        # pytest's own reader differs: it reads only its table of setup.cfg, and an old one takes
        # more for TOML than the standard does.
        if path.name not in _RESTORERS:
            return None
        try:
            text = content.decode()
            if path.name == "setup.cfg":
                configparser.RawConfigParser().read_string(text)
            else:
                tomllib.loads(text)
        except (ValueError, configparser.Error, RecursionError) as error:  # of UTF-8 and TOML, too
            return f"{' '.join(str(error).split())[:200]}"
        return None


def is_test_file(path: PurePosixPath) -> bool:
    """Whether a file has the name of a test, or is in a folder of tests."""
    return _is_named_test(path) or not {"test", "tests"}.isdisjoint(path.parts)


def _is_named_test(path: PurePosixPath) -> bool:
    return path.name.startswith("test_") or path.stem.endswith("_test")


def _protected(path: PurePosixPath, why: str) -> Protected:
    # A new `json.py` may be an accident, a new `pluggy.py` hardly.
    if why in {_SHADOWS, _SHADOWS_PLUGIN}:
        return Protected(why, tampers=_is_plugin(_root_of(path)))
    return Protected(why, tampers=why in {_CONFIGURES, _AT_START})


def _starts_with_python(path: PurePosixPath) -> bool:
    stems = {part.partition(".")[0] for part in path.parts}
    return path.suffix == ".pth" or not _STARTED_WITH_PYTHON.isdisjoint(stems)


def _is_plugin(module: str) -> bool:
    return module in _PLUGIN_ROOTS or module.startswith(_OWN_PREFIX)


def _is_imported(module: str) -> bool:
    return module in sys.stdlib_module_names or _is_plugin(module)


def _shadows(path: PurePosixPath, applies: Callable[[str], bool], roots: set[str]) -> bool:
    root = _root_of(path)
    return path.suffix in _IMPORTABLE_SUFFIXES and applies(root) and root not in roots


def _root_of(path: PurePosixPath) -> str:
    # A project's packages are at its root, or in one of these two folders.
    below = path.parts[0] in {"src", "lib"} and len(path.parts) > 1
    return path.parts[1 if below else 0].partition(".")[0]


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
    # With line ends like iniconfig's, which pytest uses.
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
