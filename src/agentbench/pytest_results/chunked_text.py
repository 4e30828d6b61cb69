"""Long texts kept compressed and read in chunks, and the elements of a large JSON array.

A report of 100,000 tests is read element by element, never as a whole.
"""

import codecs
import json
import zlib
from collections.abc import Callable, Iterator

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import finite_or_none, null_for_constant

_CHUNK_BYTES = 1 << 18
_FASTEST = 1  # of zlib's levels


class CompressedText:
    """A text that came as UTF-8; what is not is replaced."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Take all that a file-like `read` gives."""
        self._blocks: list[bytes] = []
        self._size = 0
        packer = zlib.compressobj(_FASTEST)
        while chunk := read(_CHUNK_BYTES):
            self._size += len(chunk)
            self._blocks.append(packer.compress(chunk))
        self._blocks.append(packer.flush())

    def __len__(self) -> int:
        """Bytes of the text."""
        return self._size

    def chunks(self) -> Iterator[str]:
        """The text from its begin, some 256 KiB at a time."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        unpacker = zlib.decompressobj()
        for block in self._blocks:
            data = unpacker.decompress(block, _CHUNK_BYTES)
            while data:
                yield decoder.decode(data)
                data = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK_BYTES)
        yield decoder.decode(unpacker.flush(), final=True)


ReportText = str | CompressedText
"""A file's content, packed where it is long."""


def chunks_of(text: ReportText) -> Iterator[str]:
    """A text in pieces."""
    return iter((text,)) if isinstance(text, str) else text.chunks()


def joined(text: ReportText) -> str:
    """A text in one piece."""
    return "".join(chunks_of(text))


def lines_of(text: ReportText) -> Iterator[str]:
    """Lines with their ends; nothing but a newline ends one."""
    held: list[str] = []
    for chunk in chunks_of(text):
        start = 0
        while end := chunk.find("\n", start) + 1:
            held.append(chunk[start:end])
            yield "".join(held)
            held.clear()
            start = end
        held.append(chunk[start:])
    if rest := "".join(held):
        yield rest


_SPACE = " \t\n\r"
_FIRST_STEP = 1 << 12  # characters more to try with, when a value is not whole yet; then doubled


def array_elements(chunks: Iterator[str], name: str) -> Iterator[JsonObject]:
    """The objects in the array that stands under a name at the top.

    Raises:
        ValueError: the text is not one JSON object; it may come after all elements.
    """
    text = _JsonReader(chunks)
    text.expect("{")
    closed = text.takes("}")
    while not closed:
        key = text.value(_DECODER)
        text.expect(":")
        if key == name and text.takes("["):
            yield from _array(text)
        else:
            text.value(_DISCARDING_DECODER)
        closed = text.ends("}")
    text.expect_end()


def _array(text: "_JsonReader") -> Iterator[JsonObject]:
    closed = text.takes("]")
    while not closed:
        element = text.value(_DECODER)
        if isinstance(element, dict):
            yield element
        closed = text.ends("]")


class _JsonReader:
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


def _discard(_object: JsonObject) -> None:
    return None


_DECODER = json.JSONDecoder(parse_constant=null_for_constant, parse_float=finite_or_none)
_DISCARDING_DECODER = json.JSONDecoder(parse_constant=null_for_constant, object_hook=_discard)
