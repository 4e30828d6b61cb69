"""A suite file: TOML with a list of task paths or globs, relative to the file.

tasks = ["tasks/interval-*", "../other/tasks/lru-expiry"]
"""

import re
import tomllib
from pathlib import Path

from agentbench.errors import InputError

_GLOB = re.compile(r"[*?\[]")


def suite_members(path: Path) -> list[Path]:
    """The folders that a suite file names, in its order.

    Raises:
        InputError: it is no TOML, has other keys, or an entry matches nothing.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: no suite file: {error}") from None
    entries = table.get("tasks")
    if set(table) != {"tasks"} or not isinstance(entries, list):
        raise InputError(f"{path}: expected one key, tasks = [paths], found {sorted(table)}")
    members: list[Path] = []
    faults: list[str] = []
    for entry in entries:
        found = _folders(path.parent, entry) if isinstance(entry, str) else []
        members.extend(found)
        if not found:
            faults.append(f"{path}: tasks: {entry!r} matches no folder")
    if not entries:
        faults.append(f"{path}: tasks: names no folder")
    if faults:
        raise InputError(*faults)
    return members


def _folders(below: Path, entry: str) -> list[Path]:
    try:
        if not _GLOB.search(entry):
            return [below / entry] if entry and (below / entry).is_dir() else []
        return sorted(found for found in below.glob(entry) if found.is_dir())
    except (ValueError, NotImplementedError):  # a NUL, `a**`, or an absolute pattern
        return []
