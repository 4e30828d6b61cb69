"""Cells that line up."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

from colwrap.columns import text_width
from colwrap.wrapping import wrap

Align = Literal["left", "right", "center"]


def pad(text: str, columns: int, align: Align = "left") -> str:
    """Return the text with spaces up to a width; one that is wider already is returned as it is."""
    missing = max(columns - text_width(text), 0)
    match align:
        case "left":
            return text + " " * missing
        case "right":
            return " " * missing + text
        case "center":
            return " " * (missing // 2) + text + " " * (missing - missing // 2)
    raise ValueError(f"align is {align!r}; give 'left', 'right' or 'center'")


def table(rows: Sequence[Sequence[str]], widths: Sequence[int], gap: str = "  ") -> str:
    """Return rows of cells, each cell wrapped in its column.

    Raises:
        ValueError: A row has more or fewer cells than there are widths.
    """
    lines: list[str] = []
    for number, row in enumerate(rows, start=1):
        if len(row) != len(widths):
            raise ValueError(f"row {number} has {len(row)} cells; there are {len(widths)} columns")
        cells = [wrap(cell, width) for cell, width in zip(row, widths)]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = [pad(part, width) for part, width in zip(parts, widths)]
            lines.append(gap.join(padded).rstrip())
    return "\n".join(lines)
