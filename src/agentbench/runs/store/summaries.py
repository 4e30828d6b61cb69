"""The summary of an attempt.

It has the facts for tables, rates and `resume`, in a hundredth of the record's size.
"""

from dataclasses import dataclass

from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.integrity.records import ControlKind
from agentbench.scoring.verdict import ChangeCounts
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

AttemptKey = tuple[TaskId, int]
"""An attempt of a run: its task, and its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """An attempt in one line of a table."""

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
    counts: ChangeCounts
    total_s: float
    is_metered: bool  # whether it used a model
    cost_usd: float | None
    was_interrupted: bool  # our own Ctrl-C interrupted it
    is_retryable: bool  # by the retry rule
    tokens: int | None  # in and out; None if no model was used
    model: str | None
    task_digest: str
    rewards: str = ""  # of a verifier script: 'reward 1', names and numbers
    image_name: str | None = None
    python: str | None = None
    tampered: int = 0  # tests and configuration files that the agent changed
    controls: tuple[int, ...] = ()  # the numbers of tests to fix by their `ControlKind`

    @classmethod
    def of(cls, record: "AttemptRecord | AttemptSummary") -> "AttemptSummary":
        if isinstance(record, AttemptSummary):
            return record
        usage, controls = record.usage, record.controls
        kinds = [test.control for test in controls.tests] if controls is not None else []
        return cls(
            run_id=record.run_id,
            task_id=record.task_id,
            attempt=record.attempt,
            retry_of=record.retry_of,
            agent=record.agent,
            resolved=record.resolved,
            quarantined=record.quarantined,
            failure_reason=record.failure_reason,
            fault=record.fault,
            detail=detail_of(record),
            counts=record.counts,
            total_s=record.timing.total_s,
            is_metered=usage is not None,
            cost_usd=usage.cost_usd if usage is not None else None,
            was_interrupted=was_interrupted(record),
            is_retryable=is_retryable(record),
            tokens=usage.input_tokens + usage.output_tokens if usage is not None else None,
            model=record.model,
            task_digest=record.task_digest,
            rewards=", ".join(
                f"{name} {value:g}" for name, value in (record.rewards or {}).items()
            ),
            image_name=record.environment.image_name,
            python=record.environment.python,
            tampered=len(record.tampered_paths),
            controls=tuple(map(kinds.count, ControlKind)) if kinds else (),
        )

    @property
    def folder_name(self) -> str:
        retry = f".retry-{self.retry_of}" if self.retry_of else ""
        return f"{self.task_id}/{self.attempt}{retry}"


def attempt_key(summary: AttemptSummary) -> AttemptKey:
    """The attempt that a summary belongs to."""
    return summary.task_id, summary.attempt


def counts_as_failure(record: AttemptRecord) -> bool:
    """Whether an attempt counts for `--max-failures`: unresolved, not because of infrastructure."""
    return not record.resolved and record.fault is not Fault.INFRASTRUCTURE


def is_retryable(record: AttemptRecord) -> bool:
    """The retry rule: whether an attempt is repeated while retries are left.

    Runs, `resume` and judges follow it. An interrupted attempt did not fail: `resume` repeats it,
    however many retries are left.
    """
    return record.fault is Fault.INFRASTRUCTURE and not was_interrupted(record)


def detail_of(record: AttemptRecord) -> str:
    """The detail of the verdict; says so if the attempt is also repeated by `resume`."""
    # Without it, an agent's error before a Ctrl-C looked as if the attempt had been judged.
    if was_interrupted(record) and record.failure_reason is not FailureReason.INTERRUPTED:
        return f"interrupted, and repeated by resume: {record.detail}"
    return record.detail


def was_interrupted(record: AttemptRecord) -> bool:
    """Whether the run's cancellation ended an attempt, so that `resume` repeats it."""
    return any(
        failure.reason is FailureReason.INTERRUPTED and failure.fault is Fault.INFRASTRUCTURE
        for failure in record.failures
    )
