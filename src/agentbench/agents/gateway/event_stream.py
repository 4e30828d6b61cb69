"""Server-sent events, read as they pass by."""

import re
from collections.abc import Iterator

from agentbench.agents.gateway.exchange import Exchange
from agentbench.agents.gateway.provider_errors import failure_in
from agentbench.agents.gateway.tokens import Tokens
from agentbench.agents.model_door import ModelFailure
from agentbench.pytest_results.untrusted import json_object

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4
_PENDING_LIMIT = 1 << 20  # bytes of an event that does not end; past it, it is passed on in parts
_DONE = "[DONE]"


class EventSplitter:
    """Puts chunks, cut anywhere, together to whole events."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that are whole now, each with the empty line that ends it."""
        seen = max(len(self._pending) - _LONGEST_END, 0)
        self._pending += chunk
        start = 0
        for found in _END.finditer(self._pending, seen):
            yield bytes(self._pending[start : found.end()])
            start = found.end()
        del self._pending[:start]
        if len(self._pending) > _PENDING_LIMIT:
            yield self.rest()

    def rest(self) -> bytes:
        """What has begun and not ended."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest


class StreamWatch:
    """Reads the events of one answer for its tokens and its end."""

    def __init__(self, exchange: Exchange, *, amended: bool) -> None:
        """Watch an exchange; `amended`: its request asked for more than the client did."""
        self._format = exchange.format
        self._amended = amended
        self.tokens: Tokens | None = None
        self.ended = False
        self.failure: ModelFailure | None = None
        self.refused = False

    def passes(self, event: bytes) -> bool:
        """Read an event; False if the client did not ask for it."""
        data = _data_of(event)
        if data == _DONE:
            self.ended = True
            return True
        said = json_object(data) if data else None
        if said is None:
            return True
        self.tokens = self._format.tokens(said, self.tokens)
        self.ended |= self._format.ends(said)
        self.refused |= self._format.refuses(said)
        error = self._format.error(said)
        if error is not None and self.failure is None:
            self.failure = failure_in(error, status=200)
        return not (self._amended and self._format.is_extra(said))


def _data_of(event: bytes) -> str:
    lines = event.decode("utf-8", "replace").splitlines()
    return "\n".join(line[5:].strip() for line in lines if line.startswith("data:"))
