"""What a test expects, and the ways in which it can be made to expect something else."""

from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Protocol

from agentbench.stages.verification.mutation.changes import (
    NEAR,
    Distance,
    changed,
    changed_error,
    changed_pattern,
)
from agentbench.stages.verification.mutation.disguise import write
from agentbench.stages.verification.mutation.source_text import Span
from agentbench.stages.verification.mutation.value_kind import ValueKind
from agentbench.stages.verification.mutation.values import Scalar, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """New text, and the value that it stands for as people read it."""

    text: str
    shown: str


class Way(Protocol):
    """One way to write a piece of a test anew, with its meaning or with another."""

    def kept(self, rng: Random) -> str | None:
        """Text of equal value and of the same shape; `None`: constants are disguised singly."""

    def changed(self, rng: Random) -> Replacement | None:
        """Text of another value, or `None` if none is certain to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One set of parameters of a test: which table of the function, and which row of it."""

    table: int
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValue:
    """A value in the text of a test function that decides whether the test passes."""

    span: Span
    line: int
    kind: ValueKind
    original: str
    doubt: int
    """0: a change surely fails the test. More: it may be in a branch, an argument, a bound."""
    way: Way
    row: Row | None = None
    site: int = 0
    """Values of one assertion have one number, so that long lists are not chosen more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A value that can be written down."""

    value: Value
    distance: Distance = NEAR
    avoid: Collection[object] = ()

    def kept(self, rng: Random) -> str | None:
        """The value, disguised."""
        return write(self.value, rng)

    def changed(self, rng: Random) -> Replacement | None:
        """Another value, disguised alike."""
        new = _changed_value(self.value, rng, self.distance, self.avoid)
        text = write(new, rng) if new != self.value else None
        return None if text is None else Replacement(text=text, shown=repr(new))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A regular expression that is searched for."""

    value: str

    def kept(self, rng: Random) -> str | None:
        """The expression, disguised."""
        return write(self.value, rng)

    def changed(self, rng: Random) -> Replacement | None:
        """An expression that cannot match."""
        new = changed_pattern(self.value, rng)
        text = write(new, rng) if new is not None else None
        return None if text is None else Replacement(text=text, shown=repr(new))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorType:
    """The name of an exception that must be raised."""

    names: tuple[str, ...]
    """More than one where any of several will do."""

    def kept(self, rng: Random) -> str | None:  # noqa: ARG002 (a name has no other form)
        """The name is left as it is."""
        return None

    def changed(self, rng: Random) -> Replacement | None:
        """The name of an unrelated one."""
        new = changed_error(self.names, rng)
        return None if new is None else Replacement(text=f"({new})", shown=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """An f-string, whose value is known only when it runs: something is added to its end."""

    written: str

    def kept(self, rng: Random) -> str | None:
        """What is added is cut off again."""
        return f"(({self.written} + {_word(rng)!r})[:-2])"

    def changed(self, rng: Random) -> Replacement | None:
        """A part of what is added stays."""
        word = _word(rng)
        return Replacement(
            text=f"(({self.written} + {word!r})[:-1])", shown=f"{self.written} + {word[0]!r}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A number that something must stay under or above."""

    value: float
    upper: bool

    def kept(self, rng: Random) -> str | None:
        """The number, disguised."""
        return write(self.value, rng)

    def changed(self, rng: Random) -> Replacement | None:
        """A number so low, or so high, that nothing likely is on its right side."""
        way = (1000 * abs(self.value) + rng.randrange(5_000, 90_000)) * (-1 if self.upper else 1)
        new = self.value + way
        text = write(new, rng)
        return None if text is None else Replacement(text=text, shown=repr(new))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """All values that something may have; every one of them is changed."""

    values: tuple[Scalar, ...]
    opening: str
    closing: str

    def kept(self, rng: Random) -> str | None:  # noqa: ARG002 (its constants are disguised singly)
        """The container is left as it is."""
        return None

    def changed(self, rng: Random) -> Replacement | None:
        """Other values, as many."""
        new = [changed(value, rng, Distance(far=True), self.values) for value in self.values]
        texts = [write(value, rng) for value in new]
        if None in texts:
            return None
        inner = "".join(f"{text}, " for text in texts)
        return Replacement(text=self.opening + inner + self.closing, shown=repr(new))


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """An element of a container that is taken out."""

    lines: int

    def kept(self, rng: Random) -> str | None:  # noqa: ARG002 (its constants are disguised singly)
        """The element is left as it is."""
        return None

    def changed(self, rng: Random) -> Replacement | None:  # noqa: ARG002 (there is one way only)
        """Nothing but the ends of its lines, so that those below keep their numbers."""
        return Replacement(text="\n" * self.lines, shown="(removed)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """An element that a container gets, made after one that it has."""

    like: Scalar
    avoid: Collection[object]
    before: str = ""
    """What stands before the new element: the bracket of a container that was empty, a key."""
    after: str = ", "

    def kept(self, rng: Random) -> str | None:  # noqa: ARG002 (nothing is there to write)
        """Nothing is added."""
        return None

    def changed(self, rng: Random) -> Replacement | None:
        """The new element."""
        new = changed(self.like, rng, avoid=self.avoid)
        text = write(new, rng)
        if text is None:
            return None
        return Replacement(text=self.before + text + self.after, shown=f"with {new!r} added")


def _changed_value(
    value: Value, rng: Random, distance: Distance, avoid: Collection[object]
) -> Value:
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
            return changed(value, rng, distance, avoid)


def _word(rng: Random) -> str:
    return "".join(rng.sample("abcdefghijklmnopqrstuvwxyz", 2))
