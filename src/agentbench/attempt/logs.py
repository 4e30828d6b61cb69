"""The files in an attempt's folder, except its record.

It has the events as they happen, the log of each stage, and the agent's trajectory.
"""

import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from agentbench.agents.interface import Agent, HasVersion
from agentbench.attempt.outages import CircuitBreaker, storage_errors
from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.models.interface import ModelTraffic
from agentbench.sandbox.interface import Stream
from agentbench.scoring.evidence import StageResult
from agentbench.taxonomy import FailureReason, StageName

EVENTS = "events.jsonl"

LOG_BYTES = 10 * 1024 * 1024
"""Bytes kept of a log: half from the head, half from the tail."""
# Includes the marks that hide text or change its direction.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
EXCHANGE_LOG = Path("agent", "llm.jsonl")
TRAJECTORY_FILE = Path("agent", "trajectory.json")


class EventKind(StrEnum):
    """The kinds of events."""

    REGISTERED = "registered"  # before the attempt begins
    STAGE_STARTED = "stage_started"
    STAGE_ENDED = "stage_ended"
    JUDGED = "judged"


class AttemptEvent(Schema):
    """One line of `events.jsonl`."""

    at: datetime
    event: EventKind
    stage: StageName | None = None
    cached: bool | None = None  # whether an ended stage was taken from an earlier attempt
    detail: str | None = None  # how an ended stage ended
    resolved: bool | None = None
    failure_reason: FailureReason | None = None


class AttemptFiles:
    """Writes an attempt's files; each event in one write, so that a killed run leaves whole lines.

    Every method raises StorageError if the disk has no space.
    """

    def __init__(self, folder: Path, breaker: CircuitBreaker) -> None:
        """Write below a folder; the breaker waits while the disk is full."""
        self.folder = folder
        self._breaker = breaker

    def save(self, name: str, content: bytes) -> None:
        """Write a file under a name relative to the folder."""

        def write() -> None:
            with storage_errors(self.folder):
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)

        self._breaker.written(write)

    def log_path(self, stage: StageName) -> Path:
        return self.folder / "stages" / f"{stage}.log"

    def open_log(self, stage: StageName) -> "StageLog":
        def opened() -> StageLog:
            with storage_errors(self.folder):
                return StageLog(self.log_path(stage))

        return self._breaker.written(opened)

    def registered(self) -> None:
        self._note(EventKind.REGISTERED)

    def started(self, stage: StageName) -> None:
        self._note(EventKind.STAGE_STARTED, stage=stage)

    def ended(self, result: StageResult) -> None:
        """A stage has ended, or was taken from an earlier attempt."""
        evidence = result.evidence
        ending = evidence.command.ending if evidence.command is not None else None
        fact = evidence.exception
        detail = fact.text if fact is not None else ending
        self._note(
            EventKind.STAGE_ENDED, stage=result.stage, cached=result.cached, detail=detail or "done"
        )

    def judged(self, record: AttemptRecord) -> None:
        self._note(EventKind.JUDGED, resolved=record.resolved, failure_reason=record.failure_reason)

    def _note(self, event: EventKind, **facts: object) -> None:
        entry = AttemptEvent.model_validate({"at": datetime.now(UTC), "event": event, **facts})
        line = entry.model_dump_json(exclude_none=True).encode() + b"\n"

        def write() -> None:
            with storage_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                with (self.folder / EVENTS).open("ab", buffering=0) as target:
                    target.write(line)

        self._breaker.written(write)


def read_events(folder: Path) -> tuple[AttemptEvent, ...]:
    """The events of an attempt in order; an incomplete line is left out."""
    try:
        lines = (folder / EVENTS).read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    events = []
    for line in lines:
        with suppress(ValidationError):
            events.append(AttemptEvent.model_validate_json(line))
    return tuple(events)


class StageLog:
    """Writes the head of the output at once, and the tail, bounded in memory, at the end.

    Control characters are made visible, so that showing the log cannot steer a terminal.
    """

    def __init__(
        self, path: Path, *, cap: int = LOG_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb", buffering=0)  # it is read while it grows
        self._half = cap // 2
        self._clock = clock
        self._started = clock()
        self._written = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._cut = 0
        self._lock = Lock()  # an agent may run several commands at a time

    def __enter__(self) -> "StageLog":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            if self._file.closed:
                return
            if self._cut:
                self._put(b"\n[... %d bytes left out ...]\n" % self._cut)
            for line in self._tail:
                self._put(line)
            self._file.close()

    def write(self, stream: Stream, chunk: bytes) -> None:
        """Take one chunk of output; an `OutputSink`."""
        elapsed = self._clock() - self._started
        head = f"[{elapsed:9.3f} {stream.value}] ".encode()
        # Decoding makes bytes visible that are not text, such as a single C1 byte.
        text = _CONTROL.sub(_visible, chunk.decode("utf-8", "backslashreplace")).encode()
        line = head + text + (b"" if text.endswith(b"\n") else b"\n")
        with self._lock:
            if not self._file.closed:  # closed: the caller is a thread of an abandoned agent
                self._keep(line)

    def _keep(self, line: bytes) -> None:
        remaining = self._half - self._written
        self._put(line[:remaining])
        self._written += len(line[:remaining])
        rest = line[remaining:]
        if not rest:
            return
        self._tail.append(rest[-self._half :])
        self._tail_bytes += len(self._tail[-1])
        self._cut += len(rest) - len(self._tail[-1])
        while self._tail_bytes > self._half and len(self._tail) > 1:
            gone = self._tail.popleft()
            self._tail_bytes -= len(gone)
            self._cut += len(gone)

    def _put(self, data: bytes) -> None:
        # If the disk is full, writing the record fails, too, and reports it. An error raised from
        # here, in the middle of a command, would look like a failure of the sandbox.
        with suppress(OSError):
            self._file.write(data)


def _visible(found: re.Match[str]) -> str:
    number = ord(found.group())
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def write_trajectory(
    folder: Path, *, agent: Agent, model: str, session: str, facts: ModelTraffic
) -> None:
    """Write the trajectory of an attempt, if its folder has a log of exchanges."""
    from agentbench.models.trajectory import TrajectoryAgent, build_trajectory, logged_exchanges

    if not (folder / EXCHANGE_LOG).is_file():
        return
    version = agent.version if isinstance(agent, HasVersion) else "unknown"
    trajectory = build_trajectory(
        logged_exchanges(folder / EXCHANGE_LOG),
        agent=TrajectoryAgent(name=agent.name, version=version, model_name=model),
        session=session,
        usage=facts.usage,
    )
    if trajectory is None:
        return
    with storage_errors(folder):
        written = trajectory.model_dump_json(indent=1, exclude_none=True)
        (folder / TRAJECTORY_FILE).write_text(f"{written}\n", encoding="utf-8")
