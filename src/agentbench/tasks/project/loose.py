"""Values of settings that people wrote by hand: one of a wrong type counts as not said."""

import re
from collections.abc import Mapping

Table = Mapping[str, object]
"""A table of a TOML file."""


def table_in(table: Table, *names: str) -> Table:
    """A table below others; an empty one where there is none."""
    for name in names:
        below = table.get(name)
        if not isinstance(below, dict):
            return {}
        table = below
    return table


def text_in(table: Table, name: str) -> str:
    """A string; an empty one where there is none."""
    value = table.get(name)
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list; a single string is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list | tuple) else ()


def lines(value: str) -> tuple[str, ...]:
    """The lines of an ini file's value, without comments and empty ones."""
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in value.splitlines())
    return tuple(line for line in stripped if line)
