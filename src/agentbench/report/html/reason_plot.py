"""What became of attempts: stacked bars of reasons, coloured by whose fault they are."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agentbench.report.html.amounts import percent
from agentbench.report.html.colours import HATCHES, NAMES, OF_FAULT, Colour
from agentbench.report.html.drawing import WIDTH, Sides, drawn, label, room_for, svg
from agentbench.report.html.picture import MOST_ROWS, OUTCOMES, Picture, left_out, short
from agentbench.runs.headline import Headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 34
_THICK = 0.72  # of a row, that its bar takes
_LETTER = 7.2  # units that one takes
_EDGE = 6  # that stay free beside a text
_COLOURS = tuple(NAMES)

Kind = tuple[Colour, str]


class Part(NamedTuple):
    """Attempts of one run that ended alike."""

    colour: Colour
    reason: str  # empty: resolved
    attempts: int


def reason_plot(labels: Sequence[str], attempts: Sequence[Sequence[Headline]]) -> Picture:
    """A bar for each run, from its label and attempts."""
    order = _order(attempts)
    parts = [_parts(own, order) for own in attempts]
    shown = min(len(labels), MOST_ROWS)
    return Picture(
        name="reasons",
        title="Why attempts failed",
        svg=_drawing([short(each) for each in labels[:shown]], parts[:shown]),
        note=_note(order) + left_out(len(labels), shown),
        header=("run", "outcome", "fault", "attempts", "share"),
        rows=[
            (name, part.reason or "resolved", _fault(part), str(part.attempts), _share(part, own))
            for name, own in zip(labels, parts, strict=True)
            for part in own
        ],
        keys=OUTCOMES,
    )


def _order(attempts: Sequence[Sequence[Headline]]) -> list[Kind]:
    """The parts of every bar from left to right: by colour, the most frequent reason first."""
    counts = Counter(_kind(attempt) for own in attempts for attempt in own)
    return sorted(counts, key=lambda kind: (_COLOURS.index(kind[0]), -counts[kind], kind[1]))


def _parts(attempts: Sequence[Headline], order: Sequence[Kind]) -> list[Part]:
    counts = Counter(map(_kind, attempts))
    return [Part(colour, reason, n) for colour, reason in order if (n := counts[colour, reason])]


def _note(order: Sequence[Kind]) -> str:
    """Which reasons the parts of a colour are: only wide ones bear their names."""
    said = "Each attempt is in its bar once, with its primary reason."
    faults = {
        colour.value: [reason for other, reason in order if other is colour]
        for colour in _COLOURS
        if colour is not Colour.RESOLVED
    }
    named = [f"{fault}: {', '.join(reasons)}" for fault, reasons in faults.items() if reasons]
    return (
        f"{said} From left to right, by fault of the {'; of the '.join(named)}." if named else said
    )


def _kind(attempt: Headline) -> Kind:
    if attempt.failure_reason is None:
        return Colour.RESOLVED, ""
    fault = attempt.fault or attempt.failure_reason.fault
    return OF_FAULT[fault], attempt.failure_reason.value


def outcome(attempt: Headline) -> Colour:
    """The colour of what an attempt came to."""
    return _kind(attempt)[0]


def _fault(part: Part) -> str:
    return "" if part.colour is Colour.RESOLVED else part.colour.value


def _share(part: Part, parts: Sequence[Part]) -> str:
    return percent(part.attempts / sum(each.attempts for each in parts))


def _drawing(labels: Sequence[str], parts: Sequence[Sequence[Part]]) -> str:
    sides = Sides(left=room_for(labels))
    with drawn(_ROW * len(labels) + sides.top + sides.bottom, sides) as (figure, axes):
        for row, own in enumerate(parts):
            _bar(axes, row, own, room=WIDTH - sides.left - sides.right)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
        axes.set_xlabel("share of the run's attempts")
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_yticks(range(len(labels)), [label(row) for row in range(len(labels))])
        axes.tick_params(axis="y", length=0)
        says = "Of each run the share of attempts that were resolved, and of each reason for which"
        return svg(figure, name="reasons", says=f"{says} others failed", texts=labels)


def _bar(axes: "Axes", row: int, parts: Sequence[Part], *, room: float) -> None:
    total, left = sum(part.attempts for part in parts), 0.0
    for part in parts:
        width, hatch = part.attempts / total, HATCHES[part.colour]
        axes.barh(row, width, _THICK, left, color=part.colour.code, hatch=hatch, linewidth=1.2)
        text = _text(part, width * room)
        if text:
            axes.text(
                left + width / 2,
                row,
                text,
                horizontalalignment="center",
                verticalalignment="center",
                color=Colour.PAPER.code,
                bbox=_plate(part.colour) if hatch else None,
            )
        left += width


def _plate(colour: Colour) -> dict[str, object]:
    """What keeps a hatch from running through a text."""
    return {"facecolor": colour.code, "edgecolor": "none", "pad": 1.5}


def _text(part: Part, width: float) -> str:
    """As much as there is room for."""
    name = part.reason or "resolved"
    for text in (f"{name} {part.attempts}", str(part.attempts)):
        if len(text) * _LETTER + _EDGE < width:
            return text
    return ""
