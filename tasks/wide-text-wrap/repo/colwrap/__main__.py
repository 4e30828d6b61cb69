"""``python -m colwrap COLUMNS``: wrap standard input."""

import sys

from colwrap import fill


def main(arguments: list[str]) -> int:
    """Wrap standard input to a width; return 0, or 2 on wrong usage."""
    if len(arguments) != 1 or not arguments[0].isdecimal() or int(arguments[0]) < 1:
        print("usage: python -m colwrap COLUMNS < FILE", file=sys.stderr)
        return 2
    for line in sys.stdin:
        print(fill(line.rstrip("\n"), int(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
