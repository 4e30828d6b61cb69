"""Queries: tests of fields, joined with and, or, not."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator

from logq.pattern import Pattern
from logq.records import Record, parse_record
from logq.syntax import PatternError

Test = Callable[[Record], bool]

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<paren>[()])"
    r'|(?P<field>[\w.-]+)\s*(?P<op>!=|!~|<=|>=|=|~|<|>)\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[\w.:/-]+))'
    r"|(?P<word>and|or|not)\b"
    r")"
)
_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class QueryError(ValueError):
    """A query that cannot be read."""


class Query:
    """A query that has been read once and can be put to many records."""

    def __init__(self, text: str) -> None:
        """Read a query.

        Raises:
            QueryError: The query cannot be read, or a pattern in it.
        """
        self.text = text
        self._tokens = list(_tokens(text))
        self._test = self._either()
        if self._tokens:
            raise QueryError(f"cannot make sense of {self._tokens[0][0].strip()!r} in {text!r}")

    def matches(self, record: Record) -> bool:
        """Whether a record satisfies the query.

        Raises:
            PatternTooExpensive: A pattern takes too much work on a field.
        """
        return self._test(record)

    def select(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines that satisfy the query.

        Raises:
            PatternTooExpensive: A pattern takes too much work on a line.
        """
        return (line for line in lines if self.matches(parse_record(line)))

    def _either(self) -> Test:
        options = [self._all()]
        while self._next_is("or"):
            options.append(self._all())
        return options[0] if len(options) == 1 else lambda record: any(test(record) for test in options)

    def _all(self) -> Test:
        parts = [self._one()]
        while self._next_is("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda record: all(test(record) for test in parts)

    def _one(self) -> Test:
        if self._next_is("not"):
            negated = self._one()
            return lambda record: not negated(record)
        if self._next_is("("):
            inner = self._either()
            if not self._next_is(")"):
                raise QueryError(f"a ( without its ) in {self.text!r}")
            return inner
        if not self._tokens or self._tokens[0]["field"] is None:
            found = self._tokens[0][0].strip() if self._tokens else "the end"
            raise QueryError(f"a test is wanted, not {found!r}, in {self.text!r}")
        return _field_test(self._tokens.pop(0))

    def _next_is(self, word: str) -> bool:
        if self._tokens and word in (self._tokens[0]["word"], self._tokens[0]["paren"]):
            del self._tokens[0]
            return True
        return False


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        if token is None:
            raise QueryError(f"cannot read {text[at:].strip()!r} in {text!r}")
        yield token
        at = token.end()


def _field_test(token: re.Match[str]) -> Test:
    field, op = token["field"], token["op"]
    # Only \" is resolved: any other backslash belongs to the pattern.
    value = token["bare"] if token["quoted"] is None else token["quoted"].replace('\\"', '"')
    if op in ("~", "!~"):
        return _pattern_test(field, value, wanted=op == "~")
    if op in _NUMERIC:
        return _number_test(field, value, _NUMERIC[op])
    return lambda record: (record.get(field) == value) is (op == "=")


def _pattern_test(field: str, value: str, *, wanted: bool) -> Test:
    try:
        pattern = Pattern(value)
    except PatternError as error:
        raise QueryError(f"the pattern for {field}: {error}") from error
    return lambda record: (field in record and pattern.found_in(record[field])) is wanted


def _number_test(field: str, value: str, compare: Callable[[float, float], bool]) -> Test:
    limit = _number(value)
    if limit is None:
        raise QueryError(f"{field} is compared with {value!r}, which is no number")

    def test(record: Record) -> bool:
        number = _number(record.get(field, ""))
        return number is not None and compare(number, limit)

    return test


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
