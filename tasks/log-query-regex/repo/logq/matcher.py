"""Matching by trying: each node says where it could end, best first."""

from collections.abc import Iterator

from logq.budget import Budget
from logq.nodes import Either, End, Node, Repeat, Sequence, Start, Symbol


class Matcher:
    """One text, and a budget for the work on it."""

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._budget = budget

    def ends(self, node: Node, at: int) -> Iterator[int]:
        """Yield the positions where a match of the node that begins at a position can end, best first.

        Raises:
            PatternTooExpensive: The budget is spent.
        """
        self._budget.spend()
        match node:
            case Symbol():
                if at < len(self._text) and node.admits(self._text[at]):
                    yield at + 1
            case Start():
                if at == 0:
                    yield at
            case End():
                if at == len(self._text):
                    yield at
            case Either(options):
                for option in options:
                    yield from self.ends(option, at)
            case Sequence(items):
                yield from self._sequence(items, at)
            case Repeat(Symbol() as symbol, least, most):
                yield from self._run(symbol, least, most, at)
            case Repeat():
                yield from self._repeat(node, at)

    def _sequence(self, items: tuple[Node, ...], at: int) -> Iterator[int]:
        """Try the items in turn; the trail holds what is left to try of each."""
        trail = [iter((at,))]
        while trail:
            end = next(trail[-1], None)
            if end is None:
                trail.pop()
            elif len(trail) > len(items):
                yield end
            else:
                trail.append(self.ends(items[len(trail) - 1], end))

    def _run(self, symbol: Symbol, least: int, most: int | None, at: int) -> Iterator[int]:
        """Repeat a single character: no need to try, only to count."""
        last = len(self._text) if most is None else min(at + most, len(self._text))
        end = at
        while end < last and symbol.admits(self._text[end]):
            self._budget.spend()
            end += 1
        yield from range(end, at + least - 1, -1)

    def _repeat(self, node: Repeat, at: int) -> Iterator[int]:
        """Repeat any item; the trail holds the position after each round, and what else it could do."""
        trail = [(at, self.ends(node.item, at))]
        while trail:
            here, further = trail[-1]
            end = None
            if node.most is None or len(trail) <= node.most:
                end = next((each for each in further if each > here), None)
            if end is not None:
                trail.append((end, self.ends(node.item, end)))
                continue
            trail.pop()
            if len(trail) >= node.least:
                yield here
