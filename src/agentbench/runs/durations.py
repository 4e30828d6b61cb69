"""How long attempts at a task took earlier: what the order of the next run goes by.

A file in the cache, one line an attempt, the last one counting. It decides nothing but an order,
so it is written without waiting for the disk, and what is damaged or lost of it is passed over.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from agentbench.runs.record import AttemptRecord
from agentbench.schema import Schema
from agentbench.scoring.taxonomy import Fault
from agentbench.seals.whole_file import write_whole
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_FILE = "durations.jsonl"
_SPARE = 10_000  # lines beyond twice the keys, before the old ones are dropped
_LOG = logging.getLogger("agentbench.cache")


class _Line(Schema):
    key: str
    seconds: float


class Durations:
    """The durations of attempts by one agent with one model on one back end."""

    def __init__(self, folder: Path, *, agent: str, model: str | None, provider: str) -> None:
        self._path = folder / _FILE
        self._who = f"{provider}\0{agent}\0{model or ''}"

    def known(self, tasks: Iterable[Task]) -> dict[TaskId, float]:
        """The seconds that an attempt took last, by task id, of those that were tried before."""
        ids = {self._key(task.digest): task.id for task in tasks}
        lines = 0
        newest: dict[str, float] = {}
        for line in self._lines():
            lines += 1
            newest[line.key] = line.seconds
        if lines > 2 * len(newest) + _SPARE:
            self._rewrite(newest)
        return {ids[key]: seconds for key, seconds in newest.items() if key in ids}

    def note(self, record: AttemptRecord) -> None:
        """Keep how long an attempt took, unless the infrastructure cut it short."""
        if record.fault is Fault.INFRASTRUCTURE:
            return
        line = _Line(key=self._key(record.task_digest), seconds=record.timing.total_s)
        try:
            with self._path.open("ab", buffering=0) as target:
                target.write(line.model_dump_json().encode() + b"\n")
        except OSError as error:
            _LOG.info("%s: not written (%s); the next order is a guess", self._path, error)

    def _key(self, digest: str) -> str:
        return hashlib.sha256(f"{self._who}\0{digest}".encode()).hexdigest()[:16]

    def _lines(self) -> Iterator[_Line]:
        try:
            with self._path.open("rb") as source:
                for line in source:
                    try:
                        yield _Line.model_validate_json(line)
                    except ValidationError:
                        continue
        except OSError:
            return

    def _rewrite(self, newest: dict[str, float]) -> None:
        lines = (_Line(key=key, seconds=seconds) for key, seconds in newest.items())
        content = "".join(f"{line.model_dump_json()}\n" for line in lines)
        try:
            write_whole(self._path, content.encode())
        except OSError as error:
            _LOG.info("%s: not made shorter (%s)", self._path, error)
