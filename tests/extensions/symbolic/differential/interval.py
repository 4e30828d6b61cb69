"""Intervals that touch: the wrong fix thinks of those that are open at the end, and no others."""

from tests.extensions.symbolic.differential.case import Case, Edit

_SETS = "spans/sets.py"
_LOOP = """\
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and merged[-1].overlaps(interval):
            last = merged.pop()
            interval = Interval(last.start, max(last.end, interval.end))
        merged.append(interval)
    return merged
"""

CASE = Case(
    task="interval-merge-touching",
    gone=(
        "test_only_the_parts_that_touch_are_joined",
        "test_a_set_and_the_rest_of_the_line_make_the_whole_line",
        "test_touching_parts_are_written_as_one[open-low]",
        "test_touching_parts_are_written_as_one[plugged-by-a-point]",
    ),
    edited=(
        Edit(
            "tests/test_touching.py",
            """\
        ("(0, 1] u (1, 2]", "(0, 2]"),
        ("(3, 4) u {4} u (4, 7)", "(3, 7)"),
""",
            "",
        ),
        Edit("tests/test_touching.py", '"open-low", "plugged-by-a-point", ', ""),
    ),
    wrong=(
        Edit(
            _SETS,
            "        if merged and merged[-1].overlaps(interval):\n",
            """\
        touches = bool(merged) and interval.start == merged[-1].end == (interval.start.value, BELOW)
        if merged and (touches or merged[-1].overlaps(interval)):
""",
        ),
    ),
    honest=(
        Edit(_SETS, "tuple(_shortest(intervals))", "tuple(_joined(sorted(intervals)))"),
        Edit(
            _SETS,
            "def _shortest(intervals: Iterable[Interval]) -> list[Interval]:\n",
            "def _joined(waiting: list[Interval]) -> Iterator[Interval]:\n",
        ),
        Edit(
            _SETS,
            _LOOP,
            """\
    at = 0
    while at < len(waiting):
        start, end = waiting[at]
        at += 1
        while at < len(waiting) and not end < waiting[at].start:
            end = max(end, waiting[at].end)
            at += 1
        yield Interval(start, end)
""",
        ),
    ),
)
