"""Reports as JSON documents, and the JSON Schemas of all files and reports.

`python -m agentbench.report.json_documents docs/schema` writes the schemas; a test checks that
docs/schema is current.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema

from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.report.comparison import Comparison
from agentbench.report.formatting import statement
from agentbench.report.leaderboard import Leaderboard
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.scoring.paired_comparison import Difference
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.tasks.problem import TaskId


class Document(Schema):
    """A part of a report, read from the attributes of the value that it describes."""

    model_config = ConfigDict(from_attributes=True, validate_by_name=True)


class RateDocument(Document):
    """Resolved attempts of some attempts."""

    resolved: int
    total: int
    rate: float = Field(validation_alias="share")
    interval_95: tuple[float, float] = Field(validation_alias="interval")
    clustered_by_task: bool = Field(validation_alias="is_clustered")


class PassDocument(Document):
    """pass@k and pass^k for one k."""

    k: int
    any_of_k: float
    all_of_k: float


class PerResolvedDocument(Document):
    """What all attempts took, divided by the resolved ones; null if unknown or none is resolved."""

    cost_usd: float | None
    tokens: float | None
    seconds: float | None


class SummaryDocument(Document):
    """Some attempts in numbers, over both denominators."""

    overall: RateDocument
    judged: RateDocument
    tasks: int
    pass_at_k: tuple[PassDocument, ...] = Field(validation_alias="passes")
    judged_pass_at_k: tuple[PassDocument, ...] = Field(validation_alias="judged_passes")
    reasons: Annotated[dict[FailureReason, int], BeforeValidator(dict)]
    faults: Annotated[dict[Fault, int], BeforeValidator(dict)]
    quarantined: int
    metered_attempts: int = Field(validation_alias="metered")
    cost_usd: float | None
    tokens: int
    attempt_seconds: float
    per_resolved: PerResolvedDocument


class ResultDocument(Document):
    """All attempts of one agent with one model at one set of tasks."""

    label: str
    agent: str | None  # null: a run without attempts
    agent_command: str | None  # of the agent `command`
    model: str | None
    base_url: str | None
    task_set: str  # digest of the tasks' ids and contents
    runs: tuple[str, ...]
    summary: SummaryDocument


class StandingDocument(Document):
    """A run's place on a leaderboard."""

    label: str
    # Letters; no significant difference between two runs that share one.
    group: Annotated[str | None, BeforeValidator(lambda letters: letters or None)]
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
    def of(cls, leaderboard: Leaderboard) -> "LeaderboardDocument":
        """The document of a leaderboard."""
        names = [entry.label for entry in leaderboard.entries]
        return cls(
            tasks=leaderboard.tasks,
            common_tasks=leaderboard.common,
            standings=tuple(map(StandingDocument.model_validate, leaderboard.entries)),
            pairs=tuple(
                PairDocument(
                    first=names[pair.first],
                    second=names[pair.second],
                    tasks=pair.tasks,
                    p_value=pair.p_value,
                )
                for pair in leaderboard.pairs
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
            **asdict(difference),
            confidence=1 - difference.alpha,
            is_significant=difference.is_significant,
            verdict=statement(difference).verdict,
        )


class CountDocument(Document):
    """Attempts at one task."""

    resolved: int
    total: int


class FlipDocument(Document):
    """A task of whose attempts another share was resolved."""

    task_id: TaskId
    first: CountDocument
    second: CountDocument


class InterpreterDocument(Document):
    """A task that ran with another Python, or in another image, in the second run."""

    task_id: TaskId
    first: str
    second: str


class SideDocument(SummaryDocument):
    """One of two runs: its attempts at shared tasks."""

    label: str

    @classmethod
    def of(cls, label: str, summary: ResultSummary) -> "SideDocument":
        """The document of a run's summary."""
        return cls(label=label, **dict(SummaryDocument.model_validate(summary)))


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
        judged = comparison.judged
        return cls(
            first=SideDocument.of(names[0], comparison.first),
            second=SideDocument.of(names[1], comparison.second),
            tasks=comparison.tasks,
            overall=DifferenceDocument.of(comparison.overall),
            judged=None if judged is None else DifferenceDocument.of(judged),
            gained=tuple(map(FlipDocument.model_validate, comparison.gained)),
            lost=tuple(map(FlipDocument.model_validate, comparison.lost)),
            only_first=comparison.only_first,
            only_second=comparison.only_second,
            changed_tasks=comparison.changed,
            changed_interpreters=tuple(
                map(InterpreterDocument.model_validate, comparison.interpreters)
            ),
        )


_DOCUMENTS: dict[str, tuple[type[BaseModel], str]] = {
    "attempt-record.json": (
        AttemptRecord,
        "One attempt: record.json, and every line of attempts.jsonl",
    ),
    "comparison.json": (ComparisonDocument, "Two runs: agentbench compare --json"),
    "report.json": (ReportDocument, "Runs: agentbench report --format json, agentbench run --json"),
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
