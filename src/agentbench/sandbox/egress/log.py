"""The record of what was asked of a proxy, bounded."""

import json
from datetime import UTC, datetime

from pydantic import Field

from agentbench.core.schema import Schema

MAX_RECORDS = 10_000
_TEXT = 253  # characters, as many as a host name has


class EgressRecord(Schema):
    """One request for a host outside of the sandbox."""

    at: datetime
    method: str  # CONNECT: any protocol
    host: str | None = None  # None: the target was no host with a port
    port: int | None = None
    allowed: bool = False
    why: str | None = None  # it was refused, or failed
    sent: int = Field(default=0, ge=0)  # bytes
    received: int = Field(default=0, ge=0)


class EgressLog:
    """The first records of one stage, and how many followed."""

    def __init__(self) -> None:
        self._records: list[EgressRecord] = []
        self._left_out = 0

    def add(self, method: str, **facts: object) -> None:
        """Add a record that ends now."""
        if len(self._records) >= MAX_RECORDS:
            self._left_out += 1
            return
        fields = {"at": datetime.now(UTC), "method": method, **facts}
        cut = {key: each[:_TEXT] if isinstance(each, str) else each for key, each in fields.items()}
        self._records.append(EgressRecord.model_validate(cut))

    def take(self) -> bytes:
        """All of it as JSON lines; it is empty afterwards."""
        lines = [each.model_dump_json(exclude_none=True) for each in self._records]
        if self._left_out:
            lines.append(json.dumps({"left_out": self._left_out}))
        self._records, self._left_out = [], 0
        return "".join(f"{line}\n" for line in lines).encode()
