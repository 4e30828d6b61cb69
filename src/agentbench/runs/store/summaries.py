"""The summary of an attempt.

It has the facts for tables, rates and `resume`, in a hundredth of the record's size.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import force_setattr

from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.core.checksums import has_valid_checksum
from agentbench.integrity.records import ControlKind
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

AttemptKey = tuple[TaskId, int]
"""An attempt of a run: its task, and its number."""
_SHARED = ("run_id", "task_id", "agent", "model", "task_digest", "image_name", "python")


class Counts(msgspec.Struct, frozen=True, gc=False):
    """The numbers of tests that an attempt changed, by kind of change."""

    fixed: int = 0
    still_failing: int = 0
    regressed: int = 0
    unrun: int = 0


class AttemptSummary(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An attempt in one line of a table; 300 bytes, so that a million fit into memory."""

    run_id: RunId
    task_id: TaskId
    attempt: int
    retry_of: int | None
    agent: str
    resolved: bool
    quarantined: bool
    failure_reason: FailureReason | None
    fault: Fault | None
    detail: str
    counts: Counts
    total_s: float
    is_metered: bool  # whether it used a model
    cost_usd: float | None
    was_interrupted: bool  # our own Ctrl-C interrupted it
    tokens: int | None  # in and out; None if no model was used
    model: str | None
    task_digest: str
    rewards: str = ""  # of a verifier script: 'reward 1', names and numbers
    image_name: str | None = None
    python: str | None = None
    tampered: int = 0  # tests and configuration files that the agent changed
    controls: tuple[int, ...] = ()  # the numbers of tests to fix by their `ControlKind`

    @classmethod
    def of(cls, record: "AttemptRecord | AttemptSummary | _RecordFields") -> "AttemptSummary":
        """The summary of a record."""
        if isinstance(record, AttemptSummary):
            return record
        counts, usage = record.counts, record.usage
        kinds = [test.control for test in record.controls.tests] if record.controls else []
        return cls(
            record.run_id,
            record.task_id,
            record.attempt,
            record.retry_of,
            record.agent,
            record.resolved,
            record.quarantined,
            record.failure_reason,
            record.fault,
            record.detail,
            Counts(counts.fixed, counts.still_failing, counts.regressed, counts.unrun),
            record.timing.total_s,
            usage is not None,
            usage.cost_usd if usage is not None else None,
            was_interrupted(record),
            usage.input_tokens + usage.output_tokens if usage is not None else None,
            record.model,
            record.task_digest,
            ", ".join(f"{name} {value:g}" for name, value in (record.rewards or {}).items()),
            record.environment.image_name,
            record.environment.python,
            len(record.tampered_paths),
            tuple(map(kinds.count, ControlKind)) if kinds else (),
        )

    @property
    def folder_name(self) -> str:
        """The folder of its attempt, below attempts/."""
        retry = f".retry-{self.retry_of}" if self.retry_of else ""
        return f"{self.task_id}/{self.attempt}{retry}"


def attempt_key(summary: AttemptSummary) -> AttemptKey:
    """The attempt that a summary belongs to."""
    return summary.task_id, summary.attempt


def by_attempt(summaries: Sequence[AttemptSummary]) -> list[int]:
    """The numbers of summaries by task and attempt, otherwise in their own order."""
    order = sorted(range(len(summaries)), key=lambda number: summaries[number].attempt)
    order.sort(key=lambda number: summaries[number].task_id)
    return order


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class _Timing(msgspec.Struct, gc=False):
    total_s: float


class _Environment(msgspec.Struct, gc=False):
    image_name: str | None = None
    python: str | None = None


class _Dropped(msgspec.Struct, gc=False):
    path: str
    tampers: bool = False


class _Patch(msgspec.Struct, gc=False):
    dropped: tuple[_Dropped, ...] = ()


class _TestControl(msgspec.Struct, gc=False):
    control: ControlKind


class _Controls(msgspec.Struct, gc=False):
    tests: tuple[_TestControl, ...] = ()


class _Failure(msgspec.Struct, gc=False):
    reason: FailureReason
    fault: Fault


class _RecordFields(msgspec.Struct, gc=False):
    """The fields of a record that a summary needs, as strict as the record's own."""

    schema_version: Literal[1]
    run_id: RunId
    task_id: TaskId
    attempt: int
    agent: str
    resolved: bool
    quarantined: bool
    failure_reason: FailureReason | None
    fault: Fault | None
    task_digest: str
    timing: _Timing
    environment: _Environment
    model: str | None = None
    retry_of: int | None = None
    detail: str = ""
    failures: tuple[_Failure, ...] = ()
    counts: Counts = Counts()
    usage: _Usage | None = None
    rewards: dict[str, float] | None = None
    patch: _Patch | None = None
    controls: _Controls | None = None

    @property
    def tampered_paths(self) -> tuple[str, ...]:
        dropped = self.patch.dropped if self.patch is not None else ()
        return tuple(each.path for each in dropped if each.tampers)


_RECORD_DECODER: Final = msgspec.json.Decoder(_RecordFields)


class SummaryReader:
    """Makes summaries of lines; equal texts and counts are stored once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._counts: dict[Counts, Counts] = {}
        self._controls: dict[tuple[int, ...], tuple[int, ...]] = {}

    def of_sealed(self, line: bytes) -> AttemptSummary | None:
        """The summary of a line whose digest is right; None if the whole record must be read.

        The other fields were valid when the line was sealed, and are unchanged.
        """
        if not has_valid_checksum(line):
            return None
        try:
            record = _RECORD_DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return self.share(AttemptSummary.of(record))

    def share(self, summary: AttemptSummary) -> AttemptSummary:
        """The same summary, with the texts and numbers that other summaries share."""
        one = self._texts.setdefault
        for field in _SHARED:
            text = getattr(summary, field)
            if text is not None:
                force_setattr(summary, field, one(text, text))
        counts = self._counts.setdefault(summary.counts, summary.counts)
        force_setattr(summary, "counts", counts)
        controls = self._controls.setdefault(summary.controls, summary.controls)
        force_setattr(summary, "controls", controls)
        return summary


def counts_as_failure(record: AttemptRecord) -> bool:
    """Whether an attempt counts for `--max-failures`: unresolved, not because of infrastructure."""
    return not record.resolved and record.fault is not Fault.INFRASTRUCTURE


def was_interrupted(record: AttemptRecord | _RecordFields) -> bool:
    """Whether the run's cancellation ended an attempt, so that `resume` repeats it."""
    return any(
        failure.reason is FailureReason.INTERRUPTED and failure.fault is Fault.INFRASTRUCTURE
        for failure in record.failures
    )
