"""What happens in an attempt, on disk as it happens: one JSON line an event."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from agentbench.runs.storage import writing_into
from agentbench.schema import Schema
from agentbench.scoring.evidence import StageName, StageResult
from agentbench.scoring.taxonomy import FailureReason
from agentbench.scoring.verdict import Verdict

EVENTS = "events.jsonl"

Write = Callable[[], None]


class EventKind(StrEnum):
    """What may happen."""

    REGISTERED = "registered"  # before anything of the attempt is begun
    STAGE_STARTED = "stage_started"
    STAGE_ENDED = "stage_ended"
    JUDGED = "judged"


class AttemptEvent(Schema):
    """One line of `events.jsonl`."""

    at: datetime
    event: EventKind
    stage: StageName | None = None
    cached: bool | None = None  # of a stage that ended: taken from an earlier attempt
    detail: str | None = None  # of a stage that ended: how
    resolved: bool | None = None
    failure_reason: FailureReason | None = None


class EventLog:
    """Writes an attempt's events, each whole in one write, so that a killed run leaves them."""

    def __init__(self, folder: Path, *, written: Callable[[Write], None]) -> None:
        """Write below a folder, through what knows how to wait for a full disk."""
        self._path = folder / EVENTS
        self._written = written

    def registered(self) -> None:
        """The attempt is about to begin.

        Raises:
            StorageError: the disk is full; so with all events.
        """
        self._note(EventKind.REGISTERED)

    def started(self, stage: StageName) -> None:
        """A stage is about to begin."""
        self._note(EventKind.STAGE_STARTED, stage=stage)

    def ended(self, result: StageResult) -> None:
        """A stage has ended, or was taken from an earlier attempt."""
        evidence = result.evidence
        ending = evidence.command.ending if evidence.command is not None else None
        detail = evidence.exception.type_name if evidence.exception is not None else ending
        self._note(
            EventKind.STAGE_ENDED, stage=result.stage, cached=result.cached, detail=detail or "done"
        )

    def judged(self, verdict: Verdict) -> None:
        """The attempt has its verdict."""
        self._note(
            EventKind.JUDGED, resolved=verdict.resolved, failure_reason=verdict.failure_reason
        )

    def _note(self, event: EventKind, **facts: object) -> None:
        made = AttemptEvent.model_validate({"at": datetime.now(UTC), "event": event, **facts})
        line = made.model_dump_json(exclude_none=True).encode() + b"\n"

        def write() -> None:
            with writing_into(self._path.parent):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab", buffering=0) as target:
                    target.write(line)

        self._written(write)


def read_events(folder: Path) -> tuple[AttemptEvent, ...]:
    """The events of an attempt, in their order; a line that was torn is left out."""
    try:
        lines = (folder / EVENTS).read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    return tuple(event for line in lines if (event := _event(line)) is not None)


def _event(line: bytes) -> AttemptEvent | None:
    try:
        return AttemptEvent.model_validate_json(line)
    except ValidationError:
        return None
