"""``python -m taskplan FILE``: print a plan."""

import argparse
import sys
from pathlib import Path

from taskplan.graph import CycleError, UnknownTask
from taskplan.plan import Plan
from taskplan.reading import PlanSyntaxError


def main(arguments: list[str]) -> int:
    """Print the order, the waves or what a task affects; return 0, or 1 where there is no plan."""
    parser = argparse.ArgumentParser(prog="taskplan")
    parser.add_argument("file", type=Path)
    parser.add_argument("--waves", action="store_true", help="one wave a line")
    parser.add_argument("--affected", metavar="NAME", help="what depends on a task")
    options = parser.parse_args(arguments)
    try:
        print("\n".join(_lines(Plan.from_text(options.file.read_text(encoding="utf-8")), options)))
    except CycleError as error:
        print(f"taskplan: a cycle: {error}", file=sys.stderr)
        return 1
    except (PlanSyntaxError, UnknownTask) as error:
        print(f"taskplan: {error}", file=sys.stderr)
        return 1
    return 0


def _lines(plan: Plan, options: argparse.Namespace) -> list[str]:
    if options.affected:
        return plan.affected(options.affected)
    if options.waves:
        return [" ".join(wave) for wave in plan.waves()]
    return plan.order()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
