"""Reports as JSON documents, and the JSON Schemas of all files and reports.

`python -m agentbench.report.json_documents docs/schema` writes the schemas; a test checks that
docs/schema is current.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema

from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.report.comparison import Comparison, Flip, InterpreterChange
from agentbench.report.formatting import statement
from agentbench.report.leaderboard import AgentResult, Leaderboard
from agentbench.report.summary import Rate, ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.scoring.paired_comparison import Difference
from agentbench.scoring.statistics import PassRates
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.tasks.problem import TaskId


class RateDocument(Schema):
    """Resolved attempts of some attempts."""

    resolved: int
    total: int
    rate: float
    interval_95: tuple[float, float]
    clustered_by_task: bool

    @classmethod
    def of(cls, rate: Rate) -> "RateDocument":
        """The document of a rate."""
        return cls(
            resolved=rate.resolved,
            total=rate.total,
            rate=rate.share,
            interval_95=rate.interval,
            clustered_by_task=rate.tasks is not None,
        )


class PassDocument(Schema):
    """pass@k and pass^k for one k."""

    k: int
    any_of_k: float
    all_of_k: float

    @classmethod
    def of(cls, rates: PassRates) -> "PassDocument":
        """The document of two rates."""
        return cls(k=rates.k, any_of_k=rates.any_of_k, all_of_k=rates.all_of_k)


class PerResolvedDocument(Schema):
    """What all attempts took, divided by the resolved ones; null if unknown or none is resolved."""

    cost_usd: float | None
    tokens: float | None
    seconds: float | None


class SummaryDocument(Schema):
    """Some attempts in numbers, over both denominators."""

    overall: RateDocument
    judged: RateDocument
    tasks: int
    pass_at_k: tuple[PassDocument, ...]
    judged_pass_at_k: tuple[PassDocument, ...]
    reasons: dict[FailureReason, int]
    faults: dict[Fault, int]
    quarantined: int
    metered_attempts: int
    cost_usd: float | None
    tokens: int
    attempt_seconds: float
    per_resolved: PerResolvedDocument

    @classmethod
    def of(cls, summary: ResultSummary) -> "SummaryDocument":
        """The document of a summary."""
        return cls(
            overall=RateDocument.of(summary.overall),
            judged=RateDocument.of(summary.judged),
            tasks=summary.tasks,
            pass_at_k=tuple(map(PassDocument.of, summary.passes)),
            judged_pass_at_k=tuple(map(PassDocument.of, summary.judged_passes)),
            reasons=dict(summary.reasons),
            faults=dict(summary.faults),
            quarantined=summary.quarantined,
            metered_attempts=summary.metered,
            cost_usd=summary.cost_usd,
            tokens=summary.tokens,
            attempt_seconds=summary.attempt_seconds,
            per_resolved=PerResolvedDocument(
                cost_usd=summary.cost_per_resolved,
                tokens=summary.tokens_per_resolved,
                seconds=summary.seconds_per_resolved,
            ),
        )


class ResultDocument(Schema):
    """All attempts of one agent with one model at one set of tasks."""

    label: str
    agent: str | None  # null: a run without attempts
    agent_command: str | None  # of the agent `command`
    model: str | None
    base_url: str | None
    task_set: str  # digest of the tasks' ids and contents
    runs: tuple[str, ...]
    summary: SummaryDocument

    @classmethod
    def of(cls, result: AgentResult) -> "ResultDocument":
        """The document of a result."""
        return cls(
            label=result.label,
            agent=result.agent,
            agent_command=result.agent_command,
            model=result.model,
            base_url=result.base_url,
            task_set=result.task_set,
            runs=result.runs,
            summary=SummaryDocument.of(result.summary),
        )


class StandingDocument(Schema):
    """A run's place on a leaderboard."""

    label: str
    group: str | None  # letters; no significant difference between two runs that share one
    common: RateDocument
    summary: SummaryDocument


class PairDocument(Schema):
    """Two runs of a leaderboard."""

    first: str
    second: str
    tasks: int
    p_value: float  # corrected for the number of pairs (Holm)


class LeaderboardDocument(Schema):
    """Runs, the best first."""

    tasks: int
    common_tasks: int
    standings: tuple[StandingDocument, ...]
    pairs: tuple[PairDocument, ...]

    @classmethod
    def of(cls, board: Leaderboard) -> "LeaderboardDocument":
        """The document of a leaderboard."""
        names = [standing.label for standing in board.standings]
        return cls(
            tasks=board.tasks,
            common_tasks=board.common,
            standings=tuple(
                StandingDocument(
                    label=standing.label,
                    group=standing.group or None,
                    common=RateDocument.of(standing.common),
                    summary=SummaryDocument.of(standing.summary),
                )
                for standing in board.standings
            ),
            pairs=tuple(
                PairDocument(
                    first=names[pair.first],
                    second=names[pair.second],
                    tasks=pair.tasks,
                    p_value=pair.p_value,
                )
                for pair in board.pairs
            ),
        )


class ReportDocument(Schema):
    """What `agentbench report --format json` and `agentbench run --json` print."""

    schema_version: Literal[1] = 1
    results: tuple[ResultDocument, ...]
    leaderboard: LeaderboardDocument | None  # null: of one run
    attempts: tuple[dict[str, object], ...] = Field(
        description="Records of attempts, each as attempt-record.json has it."
    )


class DifferenceDocument(Schema):
    """A difference, its test, and what both mean."""

    tasks: int
    difference: float
    confidence: float  # of the interval: 1 - alpha
    interval: tuple[float, float]  # without 0 exactly if the difference is significant
    test: str
    p_value: float
    alpha: float
    is_significant: bool  # p_value < alpha
    verdict: str  # the same in words, as every other report has it
    detectable: float | None

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceDocument":
        """The document of a difference."""
        return cls(
            tasks=difference.tasks,
            difference=difference.difference,
            confidence=1 - difference.alpha,
            interval=difference.interval,
            test=difference.test,
            p_value=difference.p_value,
            alpha=difference.alpha,
            is_significant=difference.is_significant,
            verdict=statement(difference).verdict,
            detectable=difference.detectable,
        )


class CountDocument(Schema):
    """Attempts at one task."""

    resolved: int
    total: int


class FlipDocument(Schema):
    """A task of whose attempts another share was resolved."""

    task_id: TaskId
    first: CountDocument
    second: CountDocument


class InterpreterDocument(Schema):
    """A task that ran with another Python, or in another image, in the second run."""

    task_id: TaskId
    first: str
    second: str

    @classmethod
    def of(cls, change: InterpreterChange) -> "InterpreterDocument":
        """The document of a change."""
        return cls(task_id=change.task_id, first=change.first, second=change.second)


class SideDocument(SummaryDocument):
    """One of two runs: its attempts at shared tasks."""

    label: str


class ComparisonDocument(Schema):
    """What `agentbench compare --json` prints."""

    schema_version: Literal[1] = 1
    first: SideDocument
    second: SideDocument
    tasks: int
    overall: DifferenceDocument
    judged: DifferenceDocument | None  # null: no shared task has a judged attempt in both runs
    gained: tuple[FlipDocument, ...]
    lost: tuple[FlipDocument, ...]
    only_first: tuple[TaskId, ...]
    only_second: tuple[TaskId, ...]
    changed_tasks: tuple[TaskId, ...]
    changed_interpreters: tuple[InterpreterDocument, ...]

    @classmethod
    def of(cls, comparison: Comparison, names: tuple[str, str]) -> "ComparisonDocument":
        """The document of a comparison."""
        first, second = (
            SideDocument(label=name, **dict(SummaryDocument.of(summary)))
            for name, summary in zip(names, (comparison.first, comparison.second), strict=True)
        )
        judged = comparison.judged
        return cls(
            first=first,
            second=second,
            tasks=comparison.tasks,
            overall=DifferenceDocument.of(comparison.overall),
            judged=None if judged is None else DifferenceDocument.of(judged),
            gained=_flip_documents(comparison.gained),
            lost=_flip_documents(comparison.lost),
            only_first=comparison.only_first,
            only_second=comparison.only_second,
            changed_tasks=comparison.changed,
            changed_interpreters=tuple(map(InterpreterDocument.of, comparison.interpreters)),
        )


def _flip_documents(flips: Sequence[Flip]) -> tuple[FlipDocument, ...]:
    return tuple(
        FlipDocument(
            task_id=flip.task_id,
            first=_count_document(flip.first),
            second=_count_document(flip.second),
        )
        for flip in flips
    )


def _count_document(rate: Rate) -> CountDocument:
    return CountDocument(resolved=rate.resolved, total=rate.total)


_DOCUMENTS: dict[str, tuple[type[BaseModel], str]] = {
    "attempt-record.json": (
        AttemptRecord,
        "One attempt: record.json, and every line of attempts.jsonl",
    ),
    "comparison.json": (ComparisonDocument, "Two runs: agentbench compare --json"),
    "report.json": (
        ReportDocument,
        "Runs: agentbench report --format json, agentbench run --json",
    ),
    "run.json": (RunConfiguration, "One run: run.json"),
}


def render_schemas() -> dict[str, str]:
    """Each schema as the text of its file, by the file's name."""
    return {name: _render_schema(model, title) for name, (model, title) in _DOCUMENTS.items()}


def write_schemas(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render_schemas().items():
        (folder / name).write_text(text, "utf-8")


def _render_schema(model: type[BaseModel], title: str) -> str:
    schema = model.model_json_schema(mode="serialization")
    head = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": title}
    return json.dumps(head, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
