"""A terminal as the live display needs it: lines that scroll, and a cursor that moves up."""

import re

_PARTS = re.compile(r"\x1b\[(?P<number>[0-9;?]*)(?P<code>[a-zA-Z])|(?P<text>[^\x1b])", re.DOTALL)


class Screen:
    """The lines of a terminal, with those that have scrolled out of it."""

    def __init__(self, *, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self.lines = [""]
        self._row = self._column = 0

    def show(self, text: str) -> None:
        """Take the output of a program."""
        for part in _PARTS.finditer(text):
            if part["code"] == "A":
                top = max(0, len(self.lines) - self._rows)
                self._row = max(top, self._row - int(part["number"] or 1))
            elif part["code"] == "K":
                self.lines[self._row] = ""
            elif part["text"] == "\r":
                self._column = 0
            elif part["text"] == "\n":
                self._next_line()
            elif part["text"]:
                self._put(part["text"])

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._next_line()
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _next_line(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.lines):
            self.lines.append("")
