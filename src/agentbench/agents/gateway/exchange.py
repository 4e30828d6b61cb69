"""One request to a model and what became of it, filled in as it goes."""

from dataclasses import dataclass, field
from datetime import datetime

from agentbench.agents.gateway.tokens import Tokens
from agentbench.agents.gateway.wires.known import Route
from agentbench.agents.gateway.wires.wire_format import WireFormat
from agentbench.agents.model_door import ModelFailure
from agentbench.pytest_results.model import JsonObject

KEPT_OF_ANSWER = 4 << 20
"""Bytes of an answer that are kept for the log; the rest is passed on and forgotten."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """What is known of a request while it runs, and after."""

    time: datetime
    started: float  # on the gateway's clock, seconds
    route: Route
    path: str
    model: str
    request: JsonObject
    lane: str = ""
    status: int | None = None  # of HTTP, as the client got it
    first_byte_s: float | None = None
    seconds: float | None = None
    tokens: Tokens | None = None
    cost_usd: float | None = None
    failure: ModelFailure | None = None
    note: str = ""  # why it was not forwarded
    abandoned: bool = False  # by the client, or by the end of the attempt
    answer: bytearray = field(default_factory=bytearray)
    left_out: int = 0  # bytes of the answer that are not kept

    @property
    def format(self) -> WireFormat:
        """What is known about its wire."""
        return self.route.format

    def keep(self, data: bytes) -> None:
        """Remember a part of the answer, as far as there is room."""
        kept = data[: KEPT_OF_ANSWER - len(self.answer)]
        self.answer += kept
        self.left_out += len(data) - len(kept)
