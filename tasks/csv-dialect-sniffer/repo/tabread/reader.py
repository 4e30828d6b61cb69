"""Splits a text into records and fields, given its dialect."""

from collections.abc import Iterator

from tabread.dialect import Dialect


class ReadError(ValueError):
    """The text does not follow the dialect."""


def records(text: str, dialect: Dialect = Dialect()) -> Iterator[list[str]]:
    """Yield each record as a list of fields, without conversion.

    Raises:
        ReadError: a quoted field is not closed, or text follows its closing quote.
    """
    scanner = _Scanner(text, dialect)
    while not scanner.at_end():
        record = scanner.record()
        if record != [""]:
            yield record


class _Scanner:
    """A cursor over the text that reads one field after the other."""

    def __init__(self, text: str, dialect: Dialect):
        self.text = text
        self.dialect = dialect
        self.position = 0

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def record(self) -> list[str]:
        fields = [self.field()]
        while self.skip(self.dialect.delimiter):
            fields.append(self.field())
        if not self.skip("\r\n"):
            self.skip("\n") or self.skip("\r")
        return fields

    def field(self) -> str:
        if self.skip(self.dialect.quote):
            return self.quoted()
        start = self.position
        stops = self.dialect.delimiter + "\r\n"
        while not self.at_end() and self.text[self.position] not in stops:
            self.position += 1
        return self.text[start : self.position]

    def quoted(self) -> str:
        quote = self.dialect.quote
        opened = self.line()
        parts = []
        while True:
            end = self.text.find(quote, self.position)
            if end < 0:
                raise ReadError(f"line {opened}: the quoted field is not closed")
            parts.append(self.text[self.position : end])
            self.position = end + 1
            if not self.skip(quote):
                break
        if not self.at_end() and self.text[self.position] not in self.dialect.delimiter + "\r\n":
            raise ReadError(f"line {self.line()}: text follows the closing quote")
        return quote.join(parts)

    def skip(self, expected: str) -> bool:
        """Step over the expected text if it comes next."""
        found = self.text.startswith(expected, self.position)
        if found:
            self.position += len(expected)
        return found

    def line(self) -> int:
        before = self.text[: self.position]
        return 1 + before.count("\n") + before.replace("\r\n", "").count("\r")
