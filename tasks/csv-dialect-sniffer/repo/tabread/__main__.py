"""`python -m tabread FILE`: what a file looks like."""

import sys
from pathlib import Path

from tabread.reader import ReadError
from tabread.sniffer import SniffError
from tabread.table import read


def main(argv: list[str]) -> int:
    """Print the dialect and the shape of each file; 1 if one cannot be read."""
    status = 0
    for name in argv:
        try:
            table = read(Path(name).read_text(encoding="utf-8"))
        except (OSError, ReadError, SniffError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            status = 1
            continue
        columns = ", ".join(table.header) if table.header else "no header"
        print(f"{name}: {table.dialect.delimiter!r} {len(table.rows)} rows ({columns})")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
