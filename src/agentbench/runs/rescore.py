"""Judging again from records alone."""

from datetime import timedelta

from agentbench.runs.record import AttemptRecord
from agentbench.scoring.evidence import StageResult
from agentbench.scoring.verdict import Verdict, judge


def rescore(record: AttemptRecord) -> AttemptRecord:
    """The record with the verdict that today's rules give its evidence."""
    verdict = verdict_of(record)
    return record.model_copy(
        update={
            "resolved": verdict.resolved,
            "quarantined": verdict.quarantined,
            "failure_reason": verdict.failure_reason,
            "fault": verdict.fault,
            "detail": verdict.detail,
            "failures": verdict.failures,
            "tests": verdict.tests,
            "counts": verdict.counts,
        }
    )


def verdict_of(record: AttemptRecord) -> Verdict:
    """Judge a record's evidence."""
    return judge(
        record.expected,
        [
            StageResult(
                stage=stage.name,
                evidence=stage.evidence,
                started_at=stage.started_at,
                duration=timedelta(seconds=stage.duration_s),
                cached=stage.cached,
            )
            for stage in record.stages
        ],
    )
