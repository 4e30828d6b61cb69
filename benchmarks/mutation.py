"""Control runs: how long `rewrite_tests` takes, next to what Python does with the same text.

For files of several sizes, in turns: `ast.parse` with `compile`, then `rewrite_tests` of half of
the tests, then the same with every test listed, as a blind run does. Processor milliseconds.
Run: python benchmarks/mutation.py [--rounds N] [--json FILE]
"""

import ast
import time
from collections.abc import Callable
from functools import partial
from random import Random

from measuring import Measure, arguments, show, take_turns

from agentbench.integrity.expectation_changes.engine import rewrite_tests

_TEST = """
@pytest.mark.parametrize("value, expected", [(1, 2), (2, 4), (3, 6)])
def test_{0}(value, expected):  # must be twice as much
    for n in range(3):
        assert f(value, n) == ["a", {{"b": (n, 2.5)}}, expected]
    assert g() is None

"""
_LINES_OF_A_TEST = _TEST.count("\n")
_SIZES = (500, 5_000)


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__, rounds=9).parse_args()
    measures = [row for lines in _SIZES for row in _measured(lines, options.rounds)]
    show("mutation", measures, options)


def _measured(lines: int, rounds: int) -> list[Measure]:
    count = lines // _LINES_OF_A_TEST
    text = "import pytest\n" + "".join(_TEST.format(n) for n in range(count))
    listed = [f"t.py::test_{n}[{v}-{2 * v}]" for n in range(count) for v in (1, 2, 3)]
    half = listed[::2]
    works: dict[str, Callable[[], object]] = {
        "ast.parse and compile": lambda: compile(ast.parse(text), "t.py", "exec"),
        "mutate": lambda: rewrite_tests(text, "t.py", half, Random(1)),
        "mutate, for a blind run": lambda: rewrite_tests(
            text, "t.py", half, Random(1), listed=listed
        ),
    }
    variants = {f"{what}, {lines:,} lines": partial(_spent, work) for what, work in works.items()}
    return take_turns(variants, rounds, unit="ms")


def _spent(work: Callable[[], object]) -> float:
    """Milliseconds of the processor's."""
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    main()
