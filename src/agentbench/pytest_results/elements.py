"""Reads one array of a large JSON object, element by element: what json.loads would read in it."""

import json
from collections.abc import Iterator

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.untrusted import finite, null

_SPACE = " \t\n\r"
_FIRST_STEP = 1 << 12  # characters more to try with, when a value is not whole yet; then doubled


def elements(chunks: Iterator[str], name: str) -> Iterator[JsonObject]:
    """The objects in the array that stands under a name at the top.

    Raises:
        ValueError: the text is not one JSON object; it may come after all elements.
    """
    text = _Text(chunks)
    text.expect("{")
    closed = text.takes("}")
    while not closed:
        key = text.value(_KEEP)
        text.expect(":")
        if key == name and text.takes("["):
            yield from _array(text)
        else:
            text.value(_SKIP)
        closed = text.ends("}")
    text.expect_end()


def _array(text: "_Text") -> Iterator[JsonObject]:
    closed = text.takes("]")
    while not closed:
        element = text.value(_KEEP)
        if isinstance(element, dict):
            yield element
        closed = text.ends("]")


class _Text:
    """A text that comes in chunks, and how far it is read."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._held = ""
        self._at = 0

    def takes(self, mark: str) -> bool:
        """Whether a mark comes next; if so, it is read."""
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def expect(self, mark: str) -> None:
        """Read a mark.

        Raises:
            ValueError: something else comes next.
        """
        if not self.takes(mark):
            raise ValueError(f"expected {mark}")

    def ends(self, mark: str) -> bool:
        """Whether a mark ends a list here; if not, a comma is read.

        Raises:
            ValueError: neither comes next.
        """
        if self.takes(mark):
            return True
        self.expect(",")
        return False

    def expect_end(self) -> None:
        """Make sure that nothing follows.

        Raises:
            ValueError: something does.
        """
        if self._next():
            raise ValueError("expected nothing more")

    def value(self, decoder: json.JSONDecoder) -> object:
        """Read a value.

        Raises:
            ValueError: it is none, not whole, or too deep.
        """
        self._next()
        step = _FIRST_STEP
        while True:
            try:
                value, end = decoder.raw_decode(self._held, self._at)
            except RecursionError:
                raise ValueError("too deep") from None
            except ValueError:
                if not self._more(step):
                    raise
            else:
                if end < len(self._held) or not self._more(step):  # a number might go on
                    self._at = end
                    return value
            step *= 2

    def _next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held) or not self._more(1):
                return self._held[self._at : self._at + 1]

    def _more(self, wanted: int) -> bool:
        """Hold so many characters more; false when there are none."""
        pieces = [self._held[self._at :]]
        came = 0
        while came < wanted and (piece := next(self._chunks, None)) is not None:
            pieces.append(piece)
            came += len(piece)
        self._held, self._at = "".join(pieces), 0
        return came > 0


def _nothing(_object: JsonObject) -> None:
    return None


_KEEP = json.JSONDecoder(parse_constant=null, parse_float=finite)
_SKIP = json.JSONDecoder(parse_constant=null, object_hook=_nothing)
