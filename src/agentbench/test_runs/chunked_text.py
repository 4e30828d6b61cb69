"""Stores long texts compressed; reads them in chunks, and large JSON arrays by elements."""

import codecs
import json
import zlib
from collections.abc import Callable, Iterator

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import finite_or_none, null_for_constant

_CHUNK_BYTES = 1 << 18
_FASTEST = 1  # of zlib's levels
_SPACE = " \t\n\r"
_FIRST_STEP = 1 << 12  # more characters for an incomplete value, doubled each time
_DECODER = json.JSONDecoder(parse_constant=null_for_constant, parse_float=finite_or_none)
_DISCARDING_DECODER = json.JSONDecoder(
    parse_constant=null_for_constant, object_hook=lambda _object: None
)


class CompressedText:
    """A compressed text; invalid UTF-8 is replaced."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Compress everything from a `read` function."""
        self._blocks: list[bytes] = []
        self._size = 0
        packer = zlib.compressobj(_FASTEST)
        while chunk := read(_CHUNK_BYTES):
            self._size += len(chunk)
            self._blocks.append(packer.compress(chunk))
        self._blocks.append(packer.flush())

    def __len__(self) -> int:
        """The number of bytes of the text."""
        return self._size

    def chunks(self) -> Iterator[str]:
        """The text from its start, about 256 KiB at a time."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        unpacker = zlib.decompressobj()
        for block in self._blocks:
            data = unpacker.decompress(block, _CHUNK_BYTES)
            while data:
                yield decoder.decode(data)
                data = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK_BYTES)
        yield decoder.decode(unpacker.flush(), final=True)


ReportText = str | CompressedText  # a file's content, compressed if it is long


def chunks_of(text: ReportText) -> Iterator[str]:
    """A text in chunks."""
    return iter((text,)) if isinstance(text, str) else text.chunks()


def joined(text: ReportText) -> str:
    """A text as one string."""
    return "".join(chunks_of(text))


def lines_of(text: ReportText) -> Iterator[str]:
    """Lines with their ends; only a newline ends a line."""
    pending: list[str] = []
    for chunk in chunks_of(text):
        start = 0
        while end := chunk.find("\n", start) + 1:
            pending.append(chunk[start:end])
            yield "".join(pending)
            pending.clear()
            start = end
        pending.append(chunk[start:])
    if rest := "".join(pending):
        yield rest


def array_elements(chunks: Iterator[str], name: str) -> Iterator[JsonObject]:
    """The objects in an array of the top-level object.

    Raises:
        ValueError: the text is not one JSON object; may be raised after all elements.
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
    """A parser over chunks of text."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._buffer = ""
        self._at = 0

    def takes(self, mark: str) -> bool:
        """Whether a token is next; if so, it is read."""
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def expect(self, mark: str) -> None:
        """Read a token.

        Raises:
            ValueError: another token is next.
        """
        if not self.takes(mark):
            raise ValueError(f"expected {mark}")

    def ends(self, mark: str) -> bool:
        """Whether a token ends a list here; if not, a comma is read.

        Raises:
            ValueError: neither is next.
        """
        if self.takes(mark):
            return True
        self.expect(",")
        return False

    def expect_end(self) -> None:
        """Check that the text ends here.

        Raises:
            ValueError: it does not.
        """
        if self._next():
            raise ValueError("expected nothing more")

    def value(self, decoder: json.JSONDecoder) -> object:
        """Read a value.

        Raises:
            ValueError: it is invalid, incomplete, or nested too deep.
        """
        self._next()
        step = _FIRST_STEP
        while True:
            try:
                value, end = decoder.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise ValueError("too deep") from None
            except ValueError:
                if not self._more(step):
                    raise
            else:
                if end < len(self._buffer) or not self._more(step):  # a number might continue
                    self._at = end
                    return value
            step *= 2

    def _next(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer) or not self._more(1):
                return self._buffer[self._at : self._at + 1]

    def _more(self, count: int) -> bool:
        """Buffer more characters; false at the end of the text."""
        pieces = [self._buffer[self._at :]]
        came = 0
        while came < count and (piece := next(self._chunks, None)) is not None:
            pieces.append(piece)
            came += len(piece)
        self._buffer, self._at = "".join(pieces), 0
        return came > 0
