"""When each attempt of a run was under way."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from agentbench.report.html.colours import HATCHES, NAMES
from agentbench.report.html.drawing import Sides, drawn, svg
from agentbench.report.html.picture import Picture
from agentbench.report.html.reason_plot import outcome
from agentbench.report.html.shown_run import ShownRun, under_way

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

_MOST_BARS = 600
_MOST_LANES = 40
_LANE = 9
_THICK = 0.88  # of a lane, that a bar takes
_AREA = 170  # the height of the picture where attempts are counted
_STEPS = 240  # moments at which they are
_UNITS = ((7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

Span = tuple[float, float]


def time_plot(name: str, label: str, run: ShownRun) -> Picture:
    """The time line of one run: a bar for each attempt, or counts where these are too many."""
    spans = run.spans()
    lanes = list(_lanes(spans))
    single = len(spans) <= _MOST_BARS and max(lanes, default=0) < _MOST_LANES
    many = f"Too many for a bar each: how many of {len(spans):,} attempts were under way."
    return Picture(
        name=name,
        title=label,
        svg=_drawing(name, run, lanes if single else None) if spans else "",
        note="" if single else many,
        header=(
            "first start (UTC)",
            "length",
            "attempts",
            "at once, at most",
            "at once, on average",
        ),
        rows=[_facts(run)] if spans else [],
    )


def _facts(run: ShownRun) -> tuple[str, ...]:
    began, length = run.began, run.seconds
    spent = sum(attempt.total_s for attempt in run.attempts)
    return (
        f"{began:%Y-%m-%d %H:%M:%S}" if began else "",
        f"{length:.0f} s",
        str(len(run.attempts)),
        str(run.most_at_once),
        f"{spent / length:.1f}" if length else "",
    )


def _lanes(spans: Sequence[Span]) -> Iterator[int]:
    """For each span a lane that no other holds meanwhile, the lowest one there is."""
    chosen = [0] * len(spans)
    held: list[tuple[float, int]] = []
    free: list[int] = []
    for number in sorted(range(len(spans)), key=lambda number: spans[number]):
        start, end = spans[number]
        while held and held[0][0] <= start:
            heappush(free, heappop(held)[1])
        lane = heappop(free) if free else len(held)
        chosen[number] = lane
        heappush(held, (end, lane))
    yield from chosen


def _drawing(name: str, run: ShownRun, lanes: Sequence[int] | None) -> str:
    return _areas(name, run) if lanes is None else _bars(name, run, lanes)


def _bars(name: str, run: ShownRun, lanes: Sequence[int]) -> str:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    most = max(lanes) + 1
    sides = Sides(left=24)
    with drawn(max(most * _LANE, 30) + sides.top + sides.bottom, sides) as (figure, axes):
        divisor = _time_axis(axes, run.seconds)
        for colour in NAMES:
            bars = [
                _bar(start / divisor, end / divisor, lane)
                for (start, end), lane, attempt in zip(
                    run.spans(), lanes, run.attempts, strict=True
                )
                if outcome(attempt) is colour
            ]
            if bars:
                patch = PathPatch(
                    Path.make_compound_path(*bars),
                    facecolor=colour.code,
                    hatch=HATCHES[colour],
                    linewidth=0.6,
                )
                axes.add_patch(patch)
        axes.set_ylim(most, 0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return svg(figure, name=name, says=_says(run))


def _bar(left: float, right: float, lane: int) -> "Path":
    from matplotlib.path import Path

    corners = [(left, lane), (right, lane), (right, lane + _THICK), (left, lane + _THICK)]
    return Path([*corners, corners[0]], closed=True)


def _areas(name: str, run: ShownRun) -> str:
    from matplotlib.ticker import MaxNLocator

    spans, length = run.spans(), run.seconds
    moments = [length * step / _STEPS for step in range(_STEPS + 1)]
    counts = {
        colour: _counts(
            [
                span
                for span, attempt in zip(spans, run.attempts, strict=True)
                if outcome(attempt) is colour
            ],
            moments,
        )
        for colour in NAMES
    }
    with drawn(_AREA, Sides()) as (figure, axes):
        divisor = _time_axis(axes, length)
        areas = axes.stackplot(
            [moment / divisor for moment in moments],
            *counts.values(),
            colors=[colour.code for colour in counts],
            step="post",
        )
        for area, colour in zip(areas, counts, strict=True):
            area.set_hatch(HATCHES[colour])
            area.set_linewidth(0)
        axes.set_ylim(0)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("attempts at once")
        return svg(figure, name=name, says=_says(run))


def _counts(spans: Sequence[Span], moments: Sequence[float]) -> list[float]:
    """How many spans hold on average the time between each moment and the next."""
    step = moments[1] - moments[0]
    filled = [0.0] * len(moments)
    for (at, number), (until, _) in zip(steps := under_way(spans), steps[1:], strict=False):
        first, last = int(at / step), min(int(until / step), len(moments) - 1)
        for place in range(first, last + 1):
            overlap = min(until, (place + 1) * step) - max(at, place * step)
            filled[place] += number * max(overlap, 0.0) / step
    return filled


def _time_axis(axes: "Axes", seconds: float) -> float:
    """Scale the axis of time; how many seconds its unit has."""
    divisor, unit = next((each, word) for least, each, word in _UNITS if seconds >= least)
    axes.set_xlim(0, max(seconds, 1e-3) / divisor)
    axes.set_xlabel(f"{unit} since the run's first attempt began")
    return divisor


def _says(run: ShownRun) -> str:
    return (
        f"Time line of a run: {len(run.attempts)} attempts in {run.seconds:.0f} s, "
        f"at most {run.most_at_once} at once"
    )
