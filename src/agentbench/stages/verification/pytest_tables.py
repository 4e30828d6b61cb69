"""Configuration that tests share with other tools: the agent's file, with the base's pytest tables.

What pytest would read is decided more widely than any one parser reads it: a table that only
pytest's own parser sees must not slip through.
"""

import re
import tomllib
from collections.abc import Callable, Mapping

_LARGEST = 1024 * 1024  # characters; tomlkit takes its time
# What a strange document makes tomlkit stumble over, beside its own errors.
_STUMBLES = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
# iniconfig cuts a header at its first # or ; and so may see a table where configparser sees none.
_INI_TABLE = re.compile(r"\ufeff?\s*\[\s*(?:tool:)?pytest\s*\]")
_INI_HEADER = re.compile(r"\ufeff?\s*\[")


class UnreadableTablesError(ValueError):
    """A file may configure the tests, and how cannot be told."""


def restored(name: str, before: bytes | None, after: bytes | None) -> bytes | None:
    """The agent's file with the base's pytest tables in it; `None` where it has just these.

    Raises:
        UnreadableTablesError: one of the two is damaged, or too large.
        KeyError: no table of pytest can be in a file of that name.
    """
    text = _RESTORERS[name](_text(before), _text(after))
    return text.encode() if text is not None else None


def may_hold_tables(name: str) -> bool:
    """Whether a file of this name may hold a table of pytest among others."""
    return name in _RESTORERS


def _text(content: bytes | None) -> str:
    try:
        text = (content or b"").decode()
    except UnicodeDecodeError as error:
        raise UnreadableTablesError(str(error)) from None
    if len(text) > _LARGEST:
        raise UnreadableTablesError(f"{len(text)} characters")
    return text


def _restored_toml(before: str, after: str) -> str | None:
    ours, theirs = _toml(before), _toml(after)
    # By their text: 1, 1.0 and true are equal in Python and differ for pytest.
    if repr(_table_of(ours)) == repr(_table_of(theirs)):
        return None
    from tomlkit.exceptions import TOMLKitError

    try:
        text = _with_table(after, _table_of(ours))
        now = _toml(text)
    except (TOMLKitError, *_STUMBLES) as error:
        raise UnreadableTablesError(str(error)) from error
    if repr(_table_of(now)) != repr(_table_of(ours)) or _rest_of(now) != _rest_of(theirs):
        raise UnreadableTablesError("its tables cannot be told apart")
    return text


def _with_table(text: str, table: object) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    tool.pop("pytest", None)
    if table is not None:
        tool["pytest"] = table
    return tomlkit.dumps(document)


def _toml(text: str) -> Mapping[str, object]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UnreadableTablesError(str(error)) from None
    if not isinstance(document.get("tool", {}), dict):
        raise UnreadableTablesError("tool is no table")
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
    if _telling(ours) == _telling(theirs):
        return None
    if rest and not rest[-1].endswith("\n"):
        rest.append("\n")
    return "".join([*rest, *ours])


def _split(text: str) -> tuple[list[str], list[str]]:
    """The lines of the pytest tables, and all others. Lines end where iniconfig ends them."""
    tables: list[str] = []
    rest: list[str] = []
    lines = rest
    for line in text.splitlines(keepends=True):
        if _INI_HEADER.match(line):
            lines = tables if _INI_TABLE.match(line) else rest
        lines.append(line)
    return tables, rest


def _telling(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


_RESTORERS: Mapping[str, Callable[[str, str], str | None]] = {
    "pyproject.toml": _restored_toml,
    "setup.cfg": _restored_ini,
}
