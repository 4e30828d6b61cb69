"""From a text to a table: sniff, read, tell the header, convert."""

from dataclasses import dataclass
from typing import Any

from tabread.convert import convert_rows, converter_for
from tabread.dialect import Dialect
from tabread.reader import records
from tabread.sniffer import sniff

SAMPLE_SIZE = 4096


@dataclass
class Table:
    """The header, if there is one, the rows below it and how the text was delimited."""

    header: list[str] | None
    rows: list[list[Any]]
    dialect: Dialect

    def column(self, name: str) -> list[Any]:
        """The values below a name; None where a row is too short.

        Raises:
            KeyError: no column has that name.
        """
        if self.header is None or name not in self.header:
            raise KeyError(name)
        index = self.header.index(name)
        return [row[index] if index < len(row) else None for row in self.rows]


def read(text: str, dialect: Dialect | None = None, *, convert: bool = True) -> Table:
    """Read a text as a table.

    Raises:
        SniffError: the dialect cannot be told.
        ReadError: the text does not follow the dialect.
    """
    text = text.removeprefix("\ufeff")
    dialect = dialect or sniff(text[:SAMPLE_SIZE])
    rows = list(records(text, dialect))
    header = rows.pop(0) if _has_header(rows) else None
    return Table(header, convert_rows(rows) if convert else rows, dialect)


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row looks unlike the others: names above numbers, or distinct names only."""
    if len(rows) < 2:
        return False
    first, rest = rows[0], rows[1:]
    if not all(first) or len(set(first)) < len(first):
        return False
    for index, name in enumerate(first):
        below = [row[index] for row in rest if index < len(row)]
        if converter_for([name]) is not str:
            return False
        if name in below:
            return False
    return True
