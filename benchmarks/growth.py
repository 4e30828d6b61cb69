"""Growth: what a run's process holds more for each further attempt.

Whole runs of one task, in bubblewrap without control runs, of two sizes; the difference of their
peaks is what the further attempts added, given per 1,000.
Run: python benchmarks/growth.py [--task DIR] [--rounds N] [--json FILE]
"""

import argparse
import tempfile
from pathlib import Path

from measuring import MIB, Measure, arguments, child, compared, show
from overhead import Bench

_ROOT = Path(__file__).parents[1]
_WAY = ("bubblewrap", "off")
_FEW, _MANY = 50, 350
_JOBS = 4


def main() -> None:
    """Take turns and show the peaks and their difference."""
    parser = arguments(__doc__)
    parser.add_argument("--task", type=Path, default=_ROOT / "tasks" / "lru-expiry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-growth-") as scratch:
        place = Path(scratch)
        bench = Bench(task=options.task, place=place, archive=place / "none")
        child(bench.agentbench(_WAY, 1, 1), env=bench.env)  # prepares the task
        measures = _measured(bench, options)
    show("growth", measures, options, facts={"task": options.task.name})


def _measured(bench: Bench, options: argparse.Namespace) -> list[Measure]:
    peaks: dict[int, list[float]] = {_FEW: [], _MANY: []}
    for number in range(options.rounds):
        for size in (_FEW, _MANY) if number % 2 == 0 else (_MANY, _FEW):
            run = child(bench.agentbench(_WAY, size, _JOBS), env=bench.env)
            peaks[size].append(run.peak_bytes / MIB)
    few = f"peak memory, {_FEW} attempts"
    grown = [
        (many - few) * 1000 / (_MANY - _FEW)
        for few, many in zip(peaks[_FEW], peaks[_MANY], strict=True)
    ]
    return [
        compared(few, peaks[_FEW], peaks[_FEW], unit="MB", against=few),
        compared(
            f"peak memory, {_MANY} attempts", peaks[_MANY], peaks[_FEW], unit="MB", against=few
        ),
        Measure(name="growth per 1,000 further attempts", unit="MB", values=tuple(grown)),
    ]


if __name__ == "__main__":
    main()
