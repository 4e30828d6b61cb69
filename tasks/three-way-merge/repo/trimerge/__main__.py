"""`python -m trimerge HISTORY OURS THEIRS`: prints the merged text."""

import argparse
import sys
from pathlib import Path

from trimerge.history import History, HistoryError, merge_commits


def main(argv: list[str] | None = None) -> int:
    """0 for a clean merge, 1 for one with conflicts, 2 if the history is no good."""
    parser = argparse.ArgumentParser(prog="trimerge", description=__doc__)
    parser.add_argument("history", type=Path)
    parser.add_argument("ours")
    parser.add_argument("theirs")
    options = parser.parse_args(argv)
    try:
        history = History.from_json(options.history.read_text(encoding="utf-8"))
        merge = merge_commits(history, options.ours, options.theirs)
    except HistoryError as error:
        print(f"trimerge: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(merge.text(options.ours, options.theirs))
    return 0 if merge.clean else 1


if __name__ == "__main__":
    sys.exit(main())
