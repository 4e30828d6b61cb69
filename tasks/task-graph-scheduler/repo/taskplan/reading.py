"""Plan files."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"(?P<name>[\w.-]+)\s*(?:\((?P<cost>\d+(?:\.\d+)?)\))?\s*(?::(?P<needs>[\w.\s-]*))?")


class PlanSyntaxError(ValueError):
    """A line of a plan file that cannot be read."""


@dataclass(frozen=True)
class Entry:
    """One line: a task, its cost and what it depends on."""

    name: str
    cost: float
    needs: tuple[str, ...]


def read_plan(text: str) -> dict[str, Entry]:
    """Return the entries of a plan file by name.

    Raises:
        PlanSyntaxError: A line cannot be read, or a task is there twice.
    """
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise PlanSyntaxError(f"line {number}: cannot read {line!r}")
        if found["name"] in entries:
            raise PlanSyntaxError(f"line {number}: {found['name']} is there twice")
        needs = tuple((found["needs"] or "").split())
        entries[found["name"]] = Entry(found["name"], float(found["cost"] or 1), needs)
    return entries
