"""The command line: an index, requirements, and out come the choices."""

import sys
from pathlib import Path

from depsolve.index import Index, UnknownPackage
from depsolve.ranges import InvalidRange
from depsolve.resolver import Conflict, resolve

USAGE = 'usage: depsolve INDEX.json "NAME RANGE" ...'


def main(arguments: list[str]) -> int:
    """Print the chosen versions; return 0, or 1 where there are none, or 2 on wrong usage."""
    if len(arguments) < 2:
        print(USAGE, file=sys.stderr)
        return 2
    requirements = {}
    for argument in arguments[1:]:
        name, _, wanted = argument.partition(" ")
        requirements[name] = wanted.strip() or "*"
    try:
        chosen = resolve(Index.from_file(Path(arguments[0])), requirements)
    except (Conflict, InvalidRange, UnknownPackage) as error:
        print(f"depsolve: {error}", file=sys.stderr)
        return 1
    for name, version in chosen.items():
        print(name, version)
    return 0
