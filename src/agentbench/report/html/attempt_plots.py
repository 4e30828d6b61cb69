"""Plots of attempts: bars of reasons, and a time line."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from agentbench.report.formatting import percent
from agentbench.report.html import drawing
from agentbench.report.html.drawing import Colour, Picture
from agentbench.report.reported_run import TimedRun, concurrency
from agentbench.runs.store.summaries import AttemptSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path


_ROW_HEIGHT = 34
_BAR_THICKNESS = 0.72  # of a bar, relative to its row
_LETTER_WIDTH = 7.2  # units
_EDGE = 6  # margin of a text
_COLOURS = tuple(drawing.COLOUR_NAMES)

OutcomeKind = tuple[Colour, str]
_MOST_BARS = 600
_MOST_LANES = 40
_LANE_HEIGHT = 9
_LANE_THICKNESS = 0.88  # of a bar, relative to its lane
_AREA_HEIGHT = 170  # the height of the picture of counts
_STEPS = 240  # moments of the counts
_UNITS = ((7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))
Span = tuple[float, float]


class BarSegment(NamedTuple):
    """Attempts of one run with the same outcome."""

    colour: Colour
    reason: str  # empty: resolved
    attempts: int


def reason_plot(labels: Sequence[str], attempts: Sequence[Sequence[AttemptSummary]]) -> Picture:
    """A bar for each run, from its label and attempts."""
    order = _order(attempts)
    parts = [_segments(own, order) for own in attempts]
    drawn_runs = min(len(labels), drawing.MAX_RUNS)
    return Picture(
        name="reasons",
        title="Why attempts failed",
        svg=_reason_drawing(
            [drawing.short(each) for each in labels[:drawn_runs]], parts[:drawn_runs]
        ),
        note=_note(order) + drawing.omitted_runs_note(len(labels)),
        header=("run", "outcome", "fault", "attempts", "share"),
        rows=[
            (name, part.reason or "resolved", _fault(part), str(part.attempts), _share(part, own))
            for name, own in zip(labels, parts, strict=True)
            for part in own
        ],
        legend=drawing.COLOUR_NAMES,
    )


def _order(attempts: Sequence[Sequence[AttemptSummary]]) -> list[OutcomeKind]:
    """The parts of every bar from left to right: by colour, then the most frequent reason first."""
    counts = Counter(_kind(attempt) for own in attempts for attempt in own)
    return sorted(counts, key=lambda kind: (_COLOURS.index(kind[0]), -counts[kind], kind[1]))


def _segments(attempts: Sequence[AttemptSummary], order: Sequence[OutcomeKind]) -> list[BarSegment]:
    counts = Counter(map(_kind, attempts))
    return [
        BarSegment(colour, reason, n) for colour, reason in order if (n := counts[colour, reason])
    ]


def _note(order: Sequence[OutcomeKind]) -> str:
    """The reasons of a colour's parts, since only wide ones have labels."""
    note = "Each attempt is in its bar once, with its primary reason."
    faults = {
        colour.value: [reason for other, reason in order if other is colour]
        for colour in _COLOURS
        if colour is not Colour.RESOLVED
    }
    named = [f"{fault}: {', '.join(reasons)}" for fault, reasons in faults.items() if reasons]
    if named:
        note += f" From left to right, by fault of the {'; of the '.join(named)}."
    return note


def _kind(attempt: AttemptSummary) -> OutcomeKind:
    if attempt.failure_reason is None:
        return Colour.RESOLVED, ""
    fault = attempt.fault or attempt.failure_reason.fault
    return Colour(fault.value), attempt.failure_reason.value


def outcome_colour(attempt: AttemptSummary) -> Colour:
    """The colour of an attempt's outcome."""
    return _kind(attempt)[0]


def _fault(part: BarSegment) -> str:
    return "" if part.colour is Colour.RESOLVED else part.colour.value


def _share(part: BarSegment, parts: Sequence[BarSegment]) -> str:
    return percent(part.attempts / sum(each.attempts for each in parts))


def _reason_drawing(labels: Sequence[str], parts: Sequence[Sequence[BarSegment]]) -> str:
    sides = drawing.Margins(left=drawing.label_width(labels))
    height = _ROW_HEIGHT * len(labels) + sides.top + sides.bottom
    with drawing.new_drawing(height, sides) as (figure, axes):
        for row, own in enumerate(parts):
            _draw_stacked_bar(axes, row, own, full_width=drawing.WIDTH - sides.left - sides.right)
        drawing.set_run_rows(axes, len(labels), shares="share of the run's attempts")
        says = "The share of each run's attempts that were resolved, and of each reason for which"
        return drawing.svg(figure, name="reasons", says=f"{says} others failed", texts=labels)


def _draw_stacked_bar(
    axes: "Axes", row: int, parts: Sequence[BarSegment], *, full_width: float
) -> None:
    total, left = sum(part.attempts for part in parts), 0.0
    for part in parts:
        width, hatch = part.attempts / total, drawing.HATCHES[part.colour]
        axes.barh(
            row, width, _BAR_THICKNESS, left, color=part.colour.code, hatch=hatch, linewidth=1.2
        )
        text = _segment_text(part, width * full_width)
        background = {"facecolor": part.colour.code, "edgecolor": "none", "pad": 1.5}
        if text:
            axes.text(
                left + width / 2,
                row,
                text,
                horizontalalignment="center",
                verticalalignment="center",
                color=Colour.PAPER.code,
                bbox=background if hatch else None,
            )
        left += width


def _segment_text(part: BarSegment, width: float) -> str:
    name = part.reason or "resolved"
    for text in (f"{name} {part.attempts}", str(part.attempts)):
        if len(text) * _LETTER_WIDTH + _EDGE < width:
            return text
    return ""


def time_plot(name: str, label: str, run: TimedRun) -> Picture:
    """The time line of one run: a bar for each attempt, or counts for many attempts."""
    spans = run.spans()
    lanes = list(_lanes(spans))
    svg = note = ""
    if len(spans) > _MOST_BARS or max(lanes, default=0) >= _MOST_LANES:
        note = (
            f"Too many for a bar each: the number of the {len(spans):,} attempts that were running."
        )
        svg = _areas_drawing(name, run)
    elif spans:
        svg = _bars_drawing(name, run, lanes)
    return Picture(
        name=name,
        title=label,
        svg=svg,
        note=note,
        header=("first start (UTC)", "length", "attempts", "most at once", "average at once"),
        rows=[_table_row(run)] if spans else [],
    )


def _table_row(run: TimedRun) -> tuple[str, ...]:
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
    """The lowest free lane for each span."""
    chosen = [0] * len(spans)
    busy_lanes: list[tuple[float, int]] = []
    free: list[int] = []
    for number in sorted(range(len(spans)), key=lambda number: spans[number]):
        start, end = spans[number]
        while busy_lanes and busy_lanes[0][0] <= start:
            heappush(free, heappop(busy_lanes)[1])
        lane = heappop(free) if free else len(busy_lanes)
        chosen[number] = lane
        heappush(busy_lanes, (end, lane))
    yield from chosen


def _bars_drawing(name: str, run: TimedRun, lanes: Sequence[int]) -> str:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    most = max(lanes) + 1
    sides = drawing.Margins(left=24)
    height = max(most * _LANE_HEIGHT, 30) + sides.top + sides.bottom
    with drawing.new_drawing(height, sides) as (figure, axes):
        divisor = _time_axis(axes, run.seconds)
        bars: dict[Colour, list[Path]] = {}
        for (start, end), lane, attempt in zip(run.spans(), lanes, run.attempts, strict=True):
            path = _bar_path(start / divisor, end / divisor, lane)
            bars.setdefault(outcome_colour(attempt), []).append(path)
        for colour in drawing.COLOUR_NAMES:
            if colour in bars:
                path = Path.make_compound_path(*bars[colour])
                hatch = drawing.HATCHES[colour]
                axes.add_patch(PathPatch(path, facecolor=colour.code, hatch=hatch, linewidth=0.6))
        axes.set_ylim(most, 0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return drawing.svg(figure, name=name, says=_description(run))


def _bar_path(left: float, right: float, lane: int) -> "Path":
    from matplotlib.path import Path

    bottom = lane + _LANE_THICKNESS
    corners = [(left, lane), (right, lane), (right, bottom), (left, bottom)]
    return Path([*corners, corners[0]], closed=True)


def _areas_drawing(name: str, run: TimedRun) -> str:
    from matplotlib.ticker import MaxNLocator

    moments = [run.seconds * step / _STEPS for step in range(_STEPS + 1)]
    spans: dict[Colour, list[Span]] = {colour: [] for colour in drawing.COLOUR_NAMES}
    for span, attempt in zip(run.spans(), run.attempts, strict=True):
        spans[outcome_colour(attempt)].append(span)
    with drawing.new_drawing(_AREA_HEIGHT, drawing.Margins()) as (figure, axes):
        divisor = _time_axis(axes, run.seconds)
        areas = axes.stackplot(
            [moment / divisor for moment in moments],
            *(_counts(own, moments) for own in spans.values()),
            colors=[colour.code for colour in spans],
            step="post",
        )
        for area, colour in zip(areas, spans, strict=True):
            area.set_hatch(drawing.HATCHES[colour])
            area.set_linewidth(0)
        axes.set_ylim(0)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("attempts at once")
        return drawing.svg(figure, name=name, says=_description(run))


def _counts(spans: Sequence[Span], moments: Sequence[float]) -> list[float]:
    """The mean number of spans between each moment and the next."""
    step = moments[1] - moments[0]
    filled = [0.0] * len(moments)
    for (at, number), (until, _) in zip(steps := concurrency(spans), steps[1:], strict=False):
        first, last = int(at / step), min(int(until / step), len(moments) - 1)
        for interval in range(first, last + 1):
            overlap = min(until, (interval + 1) * step) - max(at, interval * step)
            filled[interval] += number * max(overlap, 0.0) / step
    return filled


def _time_axis(axes: "Axes", seconds: float) -> float:
    """Scale the time axis; returns the seconds of its unit."""
    divisor, unit = next((each, word) for least, each, word in _UNITS if seconds >= least)
    axes.set_xlim(0, max(seconds, 1e-3) / divisor)
    axes.set_xlabel(f"{unit} since the run's first attempt began")
    return divisor


def _description(run: TimedRun) -> str:
    return (
        f"Time line of a run: {len(run.attempts)} attempts in {run.seconds:.0f} s, "
        f"at most {run.most_at_once} at once"
    )
