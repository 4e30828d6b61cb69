"""What a pattern is made of once it is parsed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """One character out of some ranges, or one out of none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def admits(self, character: str) -> bool:
        """Whether the character is one of those meant."""
        return any(low <= character <= high for low, high in self.ranges) is not self.negated


@dataclass(frozen=True)
class Start:
    """The beginning of the text."""


@dataclass(frozen=True)
class End:
    """The end of the text."""


@dataclass(frozen=True)
class Sequence:
    """Items one after the other."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Either:
    """One of some options, an earlier one preferred."""

    options: tuple["Node", ...]


@dataclass(frozen=True)
class Repeat:
    """An item so many times, more preferred to fewer; `most` is None where there is no limit."""

    item: "Node"
    least: int
    most: int | None


Node = Symbol | Start | End | Sequence | Either | Repeat


def matches_nothing(node: Node) -> bool:
    """Whether a node can match without taking a character."""
    match node:
        case Symbol():
            return False
        case Start() | End():
            return True
        case Sequence(items):
            return all(map(matches_nothing, items))
        case Either(options):
            return any(map(matches_nothing, options))
        case Repeat(item, least, _):
            return least == 0 or matches_nothing(item)
