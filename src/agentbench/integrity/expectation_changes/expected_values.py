"""Expected values, and rewriters that replace them by the same or another value."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from random import Random

from agentbench.integrity.expectation_changes.disguise import write_disguised
from agentbench.integrity.expectation_changes.other_values import (
    NEAR,
    Distance,
    other_error,
    other_pattern,
    other_text,
    other_value,
)
from agentbench.integrity.records import ValueKind
from agentbench.python_source.constants import LiteralValue
from agentbench.python_source.source_text import SourceSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """New text, and its value for people."""

    text: str
    display: str


class ValueRewriter(ABC):
    """Rewrites a part of a test, with the same meaning or with another one."""

    __slots__ = ()

    def disguised(self, rng: Random) -> str | None:
        """Text with an equal value; `None`: only its constants are disguised."""
        del rng  # most parts have one form only
        return None

    @abstractmethod
    def changed(self, rng: Random) -> Replacement | None:
        """Text with another value, or `None` if no value certainly differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRow:
    """One set of parameters of a test, which is a row of one of the function's tables."""

    table: int
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValue:
    """A value in a test function that decides whether the test passes."""

    span: SourceSpan
    line: int
    kind: ValueKind
    original: str
    doubt: int
    """0: a change certainly fails the test. More: the value may be in a branch or an argument."""
    rewriter: ValueRewriter
    row: ParameterRow | None = None
    site: int = 0  # the number of its assertion, so that long lists are not chosen more often


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralRewriter(ValueRewriter):
    """Rewrites a value that can be written as a literal."""

    value: LiteralValue

    def disguised(self, rng: Random) -> str | None:
        del rng
        return write_disguised(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantValue(LiteralRewriter):
    """A value that is compared."""

    distance: Distance = NEAR
    avoid: Collection[object] = ()

    def changed(self, rng: Random) -> Replacement | None:
        """Another value, disguised in the same way."""
        new = _changed_value(self.value, rng, self.distance, self.avoid)
        return _replacement(new) if new != self.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPattern(LiteralRewriter):
    """A regular expression for a search."""

    value: str

    def changed(self, rng: Random) -> Replacement | None:
        """An expression that cannot match."""
        new = other_pattern(self.value, rng)
        return None if new is None else _replacement(new)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError(ValueRewriter):
    """The name of an expected exception."""

    names: tuple[str, ...]  # the names; several if any of them is allowed

    def changed(self, rng: Random) -> Replacement | None:
        """The name of an unrelated exception."""
        new = other_error(self.names, rng)
        return None if new is None else Replacement(text=f"({new})", display=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctestOutput(ValueRewriter):
    """One line of a doctest's output, which is text and cannot be disguised."""

    line: str

    def changed(self, rng: Random) -> Replacement | None:
        """A line that differs in a character."""
        new = other_text(self.line, rng)
        return Replacement(text=new, display=new) if "\\" not in new else None


def _replacement(new: LiteralValue) -> Replacement | None:
    text = write_disguised(new)
    return None if text is None else Replacement(text=text, display=repr(new))


def _changed_value(
    value: LiteralValue, rng: Random, distance: Distance, avoid: Collection[object]
) -> LiteralValue:
    match value:
        case dict():
            key = rng.choice(list(value) or [0])
            return {**value, key: _changed_value(value.get(key, 0), rng, distance, ())}
        case set():
            items = sorted(value, key=repr)
            return {*items[1:], _changed_value(items[0], rng, distance, value)} if items else {0}
        case list() | tuple():
            items = list(value) or [0]
            at = rng.randrange(len(items))
            items[at] = _changed_value(items[at], rng, distance, ())
            return items if isinstance(value, list) else tuple(items)
        case _:
            return other_value(value, rng, distance, avoid)
