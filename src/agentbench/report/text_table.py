"""Tables for terminals of any width, for pipes and logs; every column is always shown.

If all columns fit, a row is one line. If they do not, the last column is wrapped, or some columns
are moved below their row. If even the others do not fit, each row is a block with one line per
column. In a pipe, which has no width, a row is always one line.

rich's own tables fold each cell instead: at 80 columns they break a task's id and a reason apart.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_GAP = 2  # characters between columns
_UNBOUNDED = 10**6  # the width without a terminal
_SEPARATOR = " \u00b7 "
_LEAST_FOLDED = 32  # the minimum width of a wrapped column
_LEAST_LONG = 20  # the minimum width of a long text


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table."""

    name: str = ""
    is_right: bool = False  # numbers
    below: int = 0  # the order of moving below the row, from 1; 0: never
    styles: Mapping[str, str] = field(default_factory=dict)  # of cells by their text


def console_of(stream: TextIO) -> Console:
    """A console for a stream, which is never too narrow unless it is a terminal."""
    width: int | None = None
    if not stream.isatty():
        # rich takes 80 columns for a pipe, so that grep missed wrapped lines.
        width = _UNBOUNDED
    elif not os.environ.get("COLUMNS"):
        # rich would ask for the width of stdin's terminal.
        with suppress(OSError):
            width = os.get_terminal_size(stream.fileno()).columns or None
    return Console(file=stream, highlight=False, markup=False, width=width)


def print_rows(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], console: Console
) -> None:
    """Print a table in the layout that fits; its cells must be printable.

    It has a header if a column has a name.
    """
    for line in _lines(columns, rows, console.width):
        console.print(line, soft_wrap=True)


def print_listing(rows: Sequence[Sequence[str]], *columns: TableColumn) -> None:
    """Print a table on stdout."""
    print_rows(columns, rows, console_of(sys.stdout))


def print_text(text: str, console: Console, *, indent: int = 0) -> None:
    """Print a text, wrapped at words, with indented further lines."""
    for line in _wrapped(Text(text), console.width, indent):
        console.print(line, soft_wrap=True)


def _lines(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int
) -> Iterator[Text]:
    names = [column.name for column in columns]
    widths = [
        max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
        for cells in zip(names, *rows, strict=True)
    ]
    available_width = width - sum(width_of + _GAP for width_of in widths[:-1])
    if widths[-1] > available_width >= _LEAST_FOLDED and columns[-1].below == 1:
        widths[-1] = available_width
        console = Console(width=available_width)
        folded = [
            "\n".join(line.plain.rstrip() for line in Text(row[-1]).wrap(console, available_width))
            for row in rows
        ]
        rows = [[*row[:-1], text] for row, text in zip(rows, folded, strict=True)]
    for moved in range(1 + max(column.below for column in columns)):
        column_numbers = [n for n, column in enumerate(columns) if not 0 < column.below <= moved]
        if sum(widths[number] + _GAP for number in column_numbers) - _GAP <= width:
            yield from _table(columns, rows, widths, column_numbers, width=width)
            return
    for row in rows:
        indent = 0
        for column, cell in zip(columns, row, strict=True):
            for line in _named(column, cell, width, indent=indent):
                indent = 2
                yield line


def _table(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    column_numbers: Sequence[int],
    *,
    width: int,
) -> Iterator[Text]:
    below = [number for number in range(len(columns)) if number not in column_numbers]
    names = [column.name for column in columns]
    if any(names):
        for line in _row(columns, names, widths, column_numbers):
            line.stylize("bold")
            yield line
    for row in rows:
        yield from _row(columns, row, widths, column_numbers)
        cells = [(columns[number], row[number]) for number in below]
        if any("\n" in cell for _, cell in cells):
            for column, cell in cells:
                yield from _named(column, cell, width, indent=2)
            continue
        labelled = [
            f"{column.name}: {cell}" if column.name else cell for column, cell in cells if cell
        ]
        if labelled:
            yield from _wrapped(Text(f"  {_SEPARATOR.join(labelled)}"), width, 4)


def _row(
    columns: Sequence[TableColumn],
    row: Sequence[str],
    widths: Sequence[int],
    column_numbers: Sequence[int],
) -> Iterator[Text]:
    cells = (row[number].split("\n") for number in column_numbers)
    for parts in zip_longest(*cells, fillvalue=""):
        line = Text()
        for number, part in zip(column_numbers, parts, strict=True):
            column = columns[number]
            cell = Text.assemble((part, column.styles.get(row[number], "")))
            cell.align("right" if column.is_right else "left", widths[number])
            line.append_text(cell).append(" " * _GAP)
        line.rstrip()
        yield line


def _named(column: TableColumn, cell: str, width: int, *, indent: int) -> Iterator[Text]:
    """A cell on its own lines with its column's name; an empty cell has none."""
    for number, part in enumerate(cell.split("\n") if cell else ()):
        name = f"{column.name}: " if column.name and number == 0 else ""
        text = Text(f"{' ' * indent}{name}")
        text.append(part, style=column.styles.get(cell, ""))
        yield from _wrapped(text, width, indent + 2)


def _wrapped(text: Text, width: int, indent: int) -> Iterator[Text]:
    """A text wrapped to a width, with indented further lines."""
    indented_width = width - indent if width - indent >= _LEAST_LONG else width
    if cell_len(text.plain) <= width:
        yield text
        return
    console = Console(width=width)
    first, *_ = text.wrap(console, width)
    first.rstrip()
    yield first
    start = len(text) - len(text.plain[len(first) :].lstrip())
    for line in text[start:].wrap(console, indented_width):
        line.rstrip()
        yield Text(" " * (width - indented_width)) + line
