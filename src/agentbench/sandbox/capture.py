"""Keeping a stream of output within a cap: its head, its tail, and a word on what is missing."""


class Capture:
    """Is fed a stream and keeps at most `cap` bytes of it, half from each end."""

    def __init__(self, cap: int) -> None:
        self._head_cap = cap - cap // 2
        self._tail_cap = cap // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def truncated(self) -> bool:
        """Whether anything was cut."""
        return self.total > self._head_cap + self._tail_cap

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._head_cap - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_cap:  # not at every chunk: each cut moves the tail
            del self._tail[: len(self._tail) - self._tail_cap]

    def text(self) -> str:
        """What was kept, as text; bytes that are none become U+FFFD."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[len(self._tail) - self._tail_cap :]
        cut = self.total - len(self._head) - len(tail)
        note = f"\n[... {cut} bytes cut out here ...]\n"
        return self._head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")
