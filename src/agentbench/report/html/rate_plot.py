"""Resolved rates with their intervals, over both denominators."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentbench.report.html.amounts import interval, percent, share
from agentbench.report.html.colours import Colour
from agentbench.report.html.drawing import Sides, drawn, label, room_for, svg
from agentbench.report.html.picture import MOST_ROWS, Key, Picture, brief, left_out, short
from agentbench.report.leaderboard import Leaderboard, Standing
from agentbench.report.summary import Rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 40
_FIGURE = 118  # what the numbers at the right take


def rate_plot(board: Leaderboard, labels: Sequence[str]) -> Picture:
    """A row for each run under its label."""
    shown = board.standings[:MOST_ROWS]
    return Picture(
        name="rates",
        title="Resolved rate",
        svg=_drawing(shown, [short(label) for label in labels[:MOST_ROWS]]),
        note="Lines are 95 % intervals: how sure one can be of a rate from so many attempts."
        + left_out(len(board.standings), len(shown)),
        header=("run", "of all attempts", "95 %", "without lost ones", "95 %"),
        rows=[
            (
                label,
                *_told(standing.summary.overall),
                *_told(standing.summary.judged),
            )
            for label, standing in zip(labels, board.standings, strict=True)
        ],
        keys=(
            Key(colour=Colour.RESOLVED, says="filled: of all attempts"),
            Key(
                colour=Colour.JUDGED,
                says="hollow: without attempts lost to the task or the infrastructure",
            ),
        ),
    )


def _told(rate: Rate) -> tuple[str, str]:
    return share(rate), interval(rate.interval)


def _drawing(standings: Sequence[Standing], labels: Sequence[str]) -> str:
    sides = Sides(left=room_for(labels), right=_FIGURE)
    height = _ROW * len(standings) + sides.top + sides.bottom
    with drawn(height, sides) as (figure, axes):
        for row, standing in enumerate(standings):
            _rate(axes, row - 0.17, standing.summary.overall, Colour.RESOLVED)
            _rate(axes, row + 0.17, standing.summary.judged, Colour.JUDGED)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
        axes.set_xlabel("attempts resolved")
        axes.set_ylim(len(standings) - 0.5, -0.5)
        axes.set_yticks(range(len(standings)), [label(row) for row in range(len(standings))])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        says = "; ".join(
            f"{who}: {percent(each.summary.overall.share)}"
            for who, each in zip(labels, standings, strict=True)
        )
        said = f"Resolved rate of each run with its 95 % interval. {says}"
        return svg(figure, name="rates", says=brief(said), texts=labels)


def _rate(axes: "Axes", at: float, rate: Rate, colour: Colour) -> None:
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
        f"{rate.resolved}/{rate.total} = {percent(rate.share)}",
        (1, at),
        xytext=(10, 0),
        textcoords="offset points",
        verticalalignment="center",
        annotation_clip=False,
    )
