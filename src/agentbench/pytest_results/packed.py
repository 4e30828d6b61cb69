"""Long texts, kept compressed: a report of 100,000 tests is read bit by bit, never as a whole."""

import codecs
import zlib
from collections.abc import Callable, Iterator

_CHUNK = 1 << 18
_FASTEST = 1  # of zlib's levels


class PackedText:
    """A text that came as UTF-8; what is not is replaced."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """Take all that a file-like `read` gives."""
        self._blocks: list[bytes] = []
        self._size = 0
        packer = zlib.compressobj(_FASTEST)
        while chunk := read(_CHUNK):
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
            data = unpacker.decompress(block, _CHUNK)
            while data:
                yield decoder.decode(data)
                data = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK)
        yield decoder.decode(unpacker.flush(), final=True)


Text = str | PackedText
"""A file's content, packed where it is long."""


def chunks_of(text: Text) -> Iterator[str]:
    """A text in pieces."""
    return iter((text,)) if isinstance(text, str) else text.chunks()


def whole(text: Text) -> str:
    """A text in one piece."""
    return "".join(chunks_of(text))


def lines_of(text: Text) -> Iterator[str]:
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
