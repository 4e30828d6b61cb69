"""From the text of a pattern to its nodes."""

import re

from logq.nodes import Either, End, Node, Repeat, Sequence, Start, Symbol, matches_nothing

_CLASSES = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": ((" ", " "), ("\t", "\r")),
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_BRACES = re.compile(r"\{(\d{1,3})(?:(,)(\d{1,3})?)?\}")
_ANY = Symbol((("\n", "\n"),), negated=True)


class PatternError(ValueError):
    """A pattern that cannot be read."""

    def __init__(self, pattern: str, at: int, reason: str) -> None:
        self.at = at
        super().__init__(f"{reason} at character {at + 1} of {pattern!r}")


def parse(pattern: str) -> Node:
    """Return the nodes of a pattern.

    Raises:
        PatternError: The pattern cannot be read.
    """
    reader = _Reader(pattern)
    node = reader.alternatives()
    if reader.at < len(pattern):
        raise reader.error("a ) without its (")
    return node


class _Reader:
    """A place in a pattern, moving to the right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def error(self, reason: str) -> PatternError:
        return PatternError(self.pattern, self.at, reason)

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        character = self.peek()
        self.at += 1
        return character

    def alternatives(self) -> Node:
        options = [self.sequence()]
        while self.peek() == "|":
            self.take()
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            items.append(self.repeated())
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def repeated(self) -> Node:
        item = self.item()
        counts = self.counts()
        if counts is None:
            return item
        least, most = counts
        # An item that can match nothing does so as often as it takes: the minimum means nothing then.
        return Repeat(item, 0 if matches_nothing(item) else least, most)

    def counts(self) -> tuple[int, int | None] | None:
        if self.peek() in _COUNTS and self.peek():
            return _COUNTS[self.take()]
        braces = _BRACES.match(self.pattern, self.at)
        if braces is None:
            return None
        least = int(braces[1])
        most = least if braces[2] is None else int(braces[3]) if braces[3] else None
        if most is not None and most < least:
            raise self.error(f"{braces[0]} asks for at most {most} and at least {least}")
        self.at = braces.end()
        return least, most

    def item(self) -> Node:
        character = self.take()
        match character:
            case "(":
                return self.group()
            case "[":
                return self.charset()
            case "\\":
                return self.escape()
            case ".":
                return _ANY
            case "^":
                return Start()
            case "$":
                return End()
            case "*" | "+" | "?":
                self.at -= 1
                raise self.error(f"nothing before the {character}")
        return Symbol(((character, character),))

    def group(self) -> Node:
        node = self.alternatives()
        if self.take() != ")":
            raise self.error("a ( without its )")
        return node

    def escape(self) -> Symbol:
        character = self.take()
        if not character:
            raise self.error("nothing after the \\")
        if character.lower() in _CLASSES:
            return Symbol(_CLASSES[character.lower()], negated=character.isupper())
        meant = _CONTROLS.get(character, character)
        return Symbol(((meant, meant),))

    def charset(self) -> Symbol:
        negated = self.peek() == "^"
        self.at += negated
        ranges: list[tuple[str, str]] = []
        while self.peek() != "]" or not ranges:
            ranges.extend(self.range())
        self.take()
        return Symbol(tuple(ranges), negated)

    def range(self) -> tuple[tuple[str, str], ...]:
        low = self.take()
        if not low:
            raise self.error("a [ without its ]")
        if low == "\\":
            symbol = self.escape()
            if symbol.negated:
                raise self.error("an opposite within [ ]")
            return symbol.ranges
        if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("", "]"):
            self.take()
            high = self.take()
            if high < low:
                raise self.error(f"the range {low}-{high} is the wrong way round")
            return ((low, high),)
        return ((low, low),)
