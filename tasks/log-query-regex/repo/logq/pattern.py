"""Patterns, ready for use."""

from logq.budget import Budget
from logq.matcher import Matcher
from logq.nodes import Node, Sequence, Start
from logq.syntax import parse


class Pattern:
    """A pattern that has been read once and can be looked for in many texts."""

    def __init__(self, text: str) -> None:
        """Read a pattern.

        Raises:
            PatternError: The pattern cannot be read.
        """
        self.text = text
        self._node = parse(text)
        self._anchored = _is_anchored(self._node)

    def find(self, text: str, budget: Budget | None = None) -> tuple[int, int] | None:
        """Return where the leftmost match begins and ends, or None.

        Raises:
            PatternTooExpensive: That would take more steps than the budget has.
        """
        matcher = Matcher(text, budget or Budget())
        for start in range(1 if self._anchored else len(text) + 1):
            end = next(iter(matcher.ends(self._node, start)), None)
            if end is not None:
                return start, end
        return None

    def found_in(self, text: str, budget: Budget | None = None) -> bool:
        """Whether there is a match anywhere in the text.

        Raises:
            PatternTooExpensive: To tell would take more steps than the budget has.
        """
        return self.find(text, budget) is not None

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"


def _is_anchored(node: Node) -> bool:
    """Whether a match can only begin where the text does."""
    if isinstance(node, Sequence):
        return bool(node.items) and _is_anchored(node.items[0])
    return isinstance(node, Start)
