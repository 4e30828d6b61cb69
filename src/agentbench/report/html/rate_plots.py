"""Plots of resolved rates, of cost against them, and the heat map of tasks and runs."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct

from agentbench.report import formatting
from agentbench.report.html import drawing
from agentbench.report.html.drawing import Colour, Picture
from agentbench.report.leaderboard import Leaderboard, LeaderboardEntry
from agentbench.report.summary import Rate
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.tasks.problem import TaskId

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ROW_HEIGHT = 40
_NUMBERS_WIDTH = 118  # of the numbers at the right
_HEIGHT = 300
_LOG_SCALE_FROM = 20  # times the lowest cost; from here on the axis is logarithmic
_MAX_COMPLETE = 60  # tasks; up to here each has its own row
_MAX_ROWS = 200  # rows
_LEVELS = 4  # colours in addition to that of 0
HeatMapCells = tuple["HeatMapCell | None", ...]


def rate_plot(leaderboard: Leaderboard, labels: Sequence[str]) -> Picture:
    """A row for each run under its label."""
    entries = leaderboard.entries[: drawing.MAX_RUNS]
    return Picture(
        name="rates",
        title="Resolved rate",
        svg=_rate_drawing(entries, [drawing.short(label) for label in labels[: drawing.MAX_RUNS]]),
        note="Lines are 95 % intervals: the uncertainty of a rate from this number of attempts."
        + drawing.omitted_runs_note(len(leaderboard.entries)),
        header=("run", "of all attempts", "95 %", "excluding errors", "95 %"),
        rows=[
            (label, *_rate_cells(entry.summary.overall), *_rate_cells(entry.summary.judged))
            for label, entry in zip(labels, leaderboard.entries, strict=True)
        ],
        legend={
            Colour.RESOLVED: "filled: of all attempts",
            Colour.JUDGED: "hollow: excluding task and infrastructure errors",
        },
    )


def _rate_cells(rate: Rate) -> tuple[str, str]:
    return formatting.share(rate), formatting.interval(rate.interval)


def _rate_drawing(entries: Sequence[LeaderboardEntry], labels: Sequence[str]) -> str:
    sides = drawing.Margins(left=drawing.label_width(labels), right=_NUMBERS_WIDTH)
    height = _ROW_HEIGHT * len(entries) + sides.top + sides.bottom
    with drawing.new_drawing(height, sides) as (figure, axes):
        for row, entry in enumerate(entries):
            _draw_rate(axes, row - 0.17, entry.summary.overall, Colour.RESOLVED)
            _draw_rate(axes, row + 0.17, entry.summary.judged, Colour.JUDGED)
        drawing.set_run_rows(axes, len(entries), shares="attempts resolved")
        axes.grid(axis="x")
        says = "; ".join(
            f"{who}: {formatting.percent(each.summary.overall.share)}"
            for who, each in zip(labels, entries, strict=True)
        )
        description = f"Resolved rate of each run with its 95 % interval. {says}"
        return drawing.svg(figure, name="rates", says=drawing.brief(description), texts=labels)


def _draw_rate(axes: "Axes", at: float, rate: Rate, colour: Colour) -> None:
    if not rate.total:
        return
    low, high = rate.interval
    axes.plot([low, high], [at, at], color=colour.code, linewidth=2, solid_capstyle="butt")
    hollow = colour is Colour.JUDGED
    axes.plot(
        [rate.share],
        [at],
        marker="D" if hollow else "o",
        markersize=6,
        color=colour.code,
        markerfacecolor=Colour.PAPER.code if hollow else colour.code,
        clip_on=False,
    )
    axes.annotate(
        f"{rate.resolved}/{rate.total} = {formatting.percent(rate.share)}",
        (1, at),
        xytext=(10, 0),
        textcoords="offset points",
        verticalalignment="center",
        annotation_clip=False,
    )


def cost_plot(leaderboard: Leaderboard, labels: Sequence[str], metered: Sequence[bool]) -> Picture:
    """A point for each run with a known cost, numbered as on the leaderboard.

    Args:
        leaderboard: The leaderboard of all runs.
        labels: The label of each entry.
        metered: For each entry, whether it used a model.
    """
    placed = list(enumerate(leaderboard.entries, start=1))
    known = [
        (number, entry)
        for (number, entry), used in zip(placed, metered, strict=True)
        if used and _cost(entry) is not None
    ]
    return Picture(
        name="costs",
        title="Cost against rate",
        svg=_cost_drawing(known) if known else "",
        note=_cost_note(placed, known),
        header=("number", "run", "USD per attempt", "resolved of all attempts", "USD per resolved"),
        rows=[
            (
                str(number),
                label,
                formatting.usd(_cost(entry)) if used else "no model",
                formatting.percent(entry.summary.overall.share),
                formatting.usd(entry.summary.per_resolved.cost_usd) if used else "no model",
            )
            for (number, entry), label, used in zip(placed, labels, metered, strict=True)
        ],
        legend={Colour.RESOLVED: "a run, and its 95 % interval"} if known else {},
    )


def _cost(entry: LeaderboardEntry) -> float | None:
    summary = entry.summary
    if summary.cost_usd is None or not summary.overall.total:
        return None
    return summary.cost_usd / summary.overall.total


def _cost_note(
    placed: Sequence[tuple[int, LeaderboardEntry]], known: Sequence[tuple[int, LeaderboardEntry]]
) -> str:
    lacking = len(placed) - len(known)
    numbers = "Numbers are those of the leaderboard."
    if not known:
        return "No cost data: no run used a model with a known price."
    if not lacking:
        return numbers
    runs = "1 run is" if lacking == 1 else f"{lacking} runs are"
    return f"{numbers} {runs} not in the picture: without a model, or with an unknown price."


def _cost_drawing(known: Sequence[tuple[int, LeaderboardEntry]]) -> str:
    with drawing.new_drawing(_HEIGHT, drawing.Margins()) as (figure, axes):
        costs = []
        for number, entry in known:
            rate, cost = entry.summary.overall, _cost(entry) or 0.0
            costs.append(cost)
            low, high = rate.interval
            axes.plot([cost, cost], [low, high], color=Colour.RESOLVED.code, linewidth=1.5)
            axes.plot([cost], [rate.share], marker="o", markersize=7, color=Colour.RESOLVED.code)
            axes.annotate(
                str(number),
                (cost, rate.share),
                xytext=(8, 5),
                textcoords="offset points",
                annotation_clip=False,
            )
        _scale_costs(axes, costs)
        axes.set_ylim(0, 1)
        axes.set_yticks(*drawing.SHARE_TICKS)
        axes.set_ylabel("attempts resolved")
        axes.grid()
        says = "The mean cost of an attempt in USD against the resolved rate, for each run"
        return drawing.svg(figure, name="costs", says=says)


def _scale_costs(axes: "Axes", costs: Sequence[float]) -> None:
    from matplotlib.ticker import StrMethodFormatter

    least, most = min(costs), max(costs)
    if least > 0 and most / least > _LOG_SCALE_FROM:
        axes.set_xscale("log")
        axes.set_xlim(least / 1.5, most * 1.5)
        axes.set_xlabel("USD per attempt, on a logarithmic scale")
    else:
        margin = 0.1 * (most - least) or 0.1 * most or 1
        axes.set_xlim(0 if least < most / 2 else least - margin, most + margin)
        axes.set_xlabel("USD per attempt")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.4g}"))


class HeatMapCell(Struct, frozen=True, kw_only=True):
    """The attempts of one run at one task."""

    resolved: int
    total: int

    @property
    def level(self) -> int:
        """0 (none resolved) to 4 (all resolved)."""
        if self.resolved == self.total:
            return _LEVELS
        return ceil(self.resolved / self.total * (_LEVELS - 1))


class HeatMap(Struct, frozen=True, kw_only=True):
    """The rows of tasks, and the tasks without a row, on which runs agree."""

    rows: Sequence[tuple[TaskId, HeatMapCells]]
    always: Sequence[TaskId] = ()  # every attempt of every run resolved them
    never: Sequence[TaskId] = ()  # no attempt of any run did
    beyond: Sequence[TaskId] = ()  # omitted because of the limit: those on which runs differ least
    tasks: int

    @property
    def note(self) -> str:
        """A note about tasks without a row."""
        if len(self.rows) == self.tasks:
            return "The hardest tasks come first."
        text = f"{len(self.rows)} of {self.tasks} tasks are shown, the hardest first: those on  "
        return text + "which attempts differ. The others are named below the table."


def heat_map(runs: Sequence[Sequence[AttemptSummary]]) -> HeatMap:
    """The heat map of some runs, each given by its attempts."""
    counts = [_counts(attempts) for attempts in runs]
    tasks = sorted(set().union(*counts))
    cells = {task: tuple(own.get(task) for own in counts) for task in tasks}
    if len(tasks) <= _MAX_COMPLETE:
        return HeatMap(rows=_ordered_rows(tasks, cells), tasks=len(tasks))
    share = {task: _share(cells[task]) for task in tasks}
    mixed = [task for task in tasks if 0 < share[task] < 1]
    mixed.sort(key=lambda task: -_spread(cells[task]))
    return HeatMap(
        rows=_ordered_rows(mixed[:_MAX_ROWS], cells),
        always=[task for task in tasks if share[task] == 1],
        never=[task for task in tasks if share[task] == 0],
        beyond=sorted(mixed[_MAX_ROWS:]),
        tasks=len(tasks),
    )


def _counts(attempts: Sequence[AttemptSummary]) -> dict[TaskId, HeatMapCell]:
    total = Counter(attempt.task_id for attempt in attempts)
    resolved = Counter(attempt.task_id for attempt in attempts if attempt.resolved)
    return {
        task: HeatMapCell(resolved=resolved[task], total=count) for task, count in total.items()
    }


def _ordered_rows(
    tasks: Sequence[TaskId], cells: dict[TaskId, HeatMapCells]
) -> list[tuple[TaskId, HeatMapCells]]:
    ordered = sorted(tasks, key=lambda task: (_share(cells[task]), task))
    return [(task, cells[task]) for task in ordered]


def _share(cells: HeatMapCells) -> float:
    filled_cells = [cell for cell in cells if cell is not None]
    return sum(cell.resolved for cell in filled_cells) / sum(cell.total for cell in filled_cells)


def _spread(cells: HeatMapCells) -> float:
    """The sort key of a task: how much runs differ, then how mixed their attempts are."""
    shares = [cell.resolved / cell.total for cell in cells if cell is not None]
    return max(shares) - min(shares) + 0.1 * (0.5 - abs(_share(cells) - 0.5))
