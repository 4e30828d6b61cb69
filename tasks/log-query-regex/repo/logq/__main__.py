"""``python -m logq QUERY``: print the lines of standard input that satisfy a query."""

import sys

from logq.budget import PatternTooExpensive
from logq.query import Query, QueryError


def main(arguments: list[str]) -> int:
    """Return 0 where a line was printed, 1 where none was, 2 where the query is no good."""
    if len(arguments) != 1:
        print("usage: python -m logq QUERY < LOG", file=sys.stderr)
        return 2
    found = False
    try:
        for line in Query(arguments[0]).select(sys.stdin):
            sys.stdout.write(line)
            found = True
    except (QueryError, PatternTooExpensive) as error:
        print(f"logq: {error}", file=sys.stderr)
        return 2
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
