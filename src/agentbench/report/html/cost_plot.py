"""What runs cost against what they resolved."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentbench.report.html.amounts import percent, usd
from agentbench.report.html.colours import Colour
from agentbench.report.html.drawing import Sides, drawn, svg
from agentbench.report.html.picture import Key, Picture
from agentbench.report.leaderboard import Leaderboard, Standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 300
_SPREAD = 20  # times the least cost: from there on a logarithmic axis tells more


def cost_plot(board: Leaderboard, labels: Sequence[str], metered: Sequence[bool]) -> Picture:
    """A point for each run whose cost is known, under its number on the leaderboard.

    Args:
        board: All runs.
        labels: Of each standing.
        metered: Of each standing, whether it used a model at all.
    """
    placed = list(enumerate(board.standings, start=1))
    known = [
        (number, standing)
        for (number, standing), used in zip(placed, metered, strict=True)
        if used and _cost(standing) is not None
    ]
    return Picture(
        name="costs",
        title="Cost against rate",
        svg=_drawing(known) if known else "",
        note=_note(placed, known),
        header=("number", "run", "USD per attempt", "resolved of all attempts", "USD per resolved"),
        rows=[
            (
                str(number),
                label,
                usd(_cost(standing)) if used else "no model",
                percent(standing.summary.overall.share),
                usd(standing.summary.cost_per_resolved) if used else "no model",
            )
            for (number, standing), label, used in zip(placed, labels, metered, strict=True)
        ],
        keys=(Key(colour=Colour.RESOLVED, says="a run, and its 95 % interval"),) if known else (),
    )


def _cost(standing: Standing) -> float | None:
    summary = standing.summary
    if summary.cost_usd is None or not summary.overall.total:
        return None
    return summary.cost_usd / summary.overall.total


def _note(placed: Sequence[tuple[int, Standing]], known: Sequence[tuple[int, Standing]]) -> str:
    lacking = len(placed) - len(known)
    numbers = "Numbers are those of the leaderboard."
    if not known:
        return "No run's cost is known: none used a model whose price is."
    if not lacking:
        return numbers
    runs = "1 run is" if lacking == 1 else f"{lacking} runs are"
    return f"{numbers} {runs} not in the picture: without a model, or of an unknown price."


def _drawing(known: Sequence[tuple[int, Standing]]) -> str:
    with drawn(_HEIGHT, Sides()) as (figure, axes):
        costs = []
        for number, standing in known:
            rate, cost = standing.summary.overall, _cost(standing) or 0.0
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
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
        axes.set_ylabel("attempts resolved")
        axes.grid()
        says = "Of each run the mean cost of an attempt in USD against its resolved rate"
        return svg(figure, name="costs", says=says)


def _scale_costs(axes: "Axes", costs: Sequence[float]) -> None:
    from matplotlib.ticker import StrMethodFormatter

    least, most = min(costs), max(costs)
    if least > 0 and most / least > _SPREAD:
        axes.set_xscale("log")
        axes.set_xlim(least / 1.5, most * 1.5)
        axes.set_xlabel("USD per attempt, on a logarithmic scale")
    else:
        margin = 0.1 * (most - least) or 0.1 * most or 1
        axes.set_xlim(0 if least < most / 2 else least - margin, most + margin)
        axes.set_xlabel("USD per attempt")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.4g}"))
