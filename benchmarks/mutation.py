"""Blind controls: how long `mutate` takes next to what Python itself does with the same text.

For files of several sizes, in turns: `ast.parse` with `compile`, then `mutate` as it was before
blind runs, then with every test listed. Medians, the spread between the quartiles and ratios to
Python's own; a table for people, and JSON. Run: python benchmarks/mutation.py [ROUNDS] [JSON_FILE]
"""

import ast
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from agentbench.stages.verification.mutation import mutate

_TEST = """
@pytest.mark.parametrize("value, expected", [(1, 2), (2, 4), (3, 6)])
def test_{0}(value, expected):  # must be twice as much
    for n in range(3):
        assert f(value, n) == ["a", {{"b": (n, 2.5)}}, expected]
    assert g() is None

"""
_LINES_OF_A_TEST = _TEST.count("\n")
_SIZES = (500, 5_000)
_PYTHON = "ast.parse and compile"


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    rows = [row for lines in _SIZES for row in _measured(lines, rounds)]
    print(f"{'lines':>6}  {'what':<24} {'median':>10} {'spread':>10} {'ratio':>7}")
    for row in rows:
        print(
            f"{row['lines']:>6}  {row['what']:<24} {row['median_ms']:7.1f} ms "
            f"{row['spread_ms']:7.1f} ms {row['ratio']:6.1f}x"
        )
    told = {"python": platform.python_version(), "rounds": rounds, "results": rows}
    text = json.dumps(told, indent=2)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(f"{text}\n", encoding="utf-8")
    else:
        print(text)


def _measured(lines: int, rounds: int) -> list[dict[str, float | str]]:
    count = lines // _LINES_OF_A_TEST
    text = "import pytest\n" + "".join(_TEST.format(n) for n in range(count))
    listed = [f"t.py::test_{n}[{v}-{2 * v}]" for n in range(count) for v in (1, 2, 3)]
    half = listed[::2]
    works: dict[str, Callable[[], object]] = {
        _PYTHON: lambda: compile(ast.parse(text), "t.py", "exec"),
        "mutate": lambda: mutate(text, "t.py", half, Random(1)),
        "mutate, for a blind run": lambda: mutate(text, "t.py", half, Random(1), listed=listed),
    }
    taken: dict[str, list[float]] = {what: [] for what in works}
    for _ in range(rounds):
        for what, work in works.items():
            started = time.process_time()
            work()
            taken[what].append(1000 * (time.process_time() - started))
    own = statistics.median(taken[_PYTHON])
    return [
        {
            "lines": lines,
            "what": what,
            "median_ms": round(statistics.median(times), 2),
            "spread_ms": round(_spread(times), 2),
            "ratio": round(statistics.median(times) / own, 2),
        }
        for what, times in taken.items()
    ]


def _spread(times: list[float]) -> float:
    first, _, third = statistics.quantiles(times, n=4)
    return third - first


if __name__ == "__main__":
    main()
