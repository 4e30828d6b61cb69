"""A bounded log of the requests to a proxy."""

import json
from datetime import datetime

from pydantic import Field

from agentbench.core.schema import Schema

MAX_RECORDS = 10_000


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
    """The first records of one stage, and the number of later ones."""

    def __init__(self) -> None:
        self._records: list[EgressRecord] = []
        self._left_out = 0

    def add(self, record: EgressRecord) -> None:
        """Add a record."""
        if len(self._records) < MAX_RECORDS:
            self._records.append(record)
        else:
            self._left_out += 1

    def take(self) -> bytes:
        """Return the log as JSON lines, and empty it."""
        lines = [each.model_dump_json(exclude_none=True) for each in self._records]
        if self._left_out:
            lines.append(json.dumps({"left_out": self._left_out}))
        self._records, self._left_out = [], 0
        return "".join(f"{line}\n" for line in lines).encode()
