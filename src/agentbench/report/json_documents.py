"""Reports as JSON documents, and the JSON Schemas of all files and reports.

The docstring of a field describes it in the schema. It is read from the source code when a schema
is written: pydantic would read it whenever agentbench starts.

`python -m agentbench.report.json_documents docs/schema` writes the schemas; a test checks that
docs/schema is current.
"""

import ast
import inspect
import json
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.integrity.records import ControlKind
from agentbench.python_source import python_syntax
from agentbench.report.comparison import Comparison
from agentbench.report.formatting import statement
from agentbench.report.leaderboard import Leaderboard
from agentbench.report.summary import ResultSummary
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.scoring.paired_comparison import Difference
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault


class Document(Schema):
    """A part of a report, read from the attributes of the value that it describes."""

    model_config = ConfigDict(from_attributes=True, validate_by_name=True)


class RateDocument(Document):
    """Resolved attempts of some attempts."""

    resolved: int
    """The number of resolved attempts."""
    total: int
    """The number of attempts."""
    rate: float = Field(validation_alias="share")
    """`resolved` divided by `total`."""
    interval_95: tuple[float, float] = Field(validation_alias="interval")
    """The 95 % confidence interval of the rate."""
    clustered_by_task: bool = Field(validation_alias="is_clustered")
    """Whether the interval allows for several attempts at the same task."""


class PassDocument(Document):
    """pass@k and pass^k for one k."""

    k: int
    """The number of attempts drawn at each task."""
    any_of_k: float
    """pass@k: the probability that at least one of them is resolved, over all tasks."""
    all_of_k: float
    """pass^k: the probability that all of them are resolved, over all tasks."""


class PerResolvedDocument(Document):
    """The effort of all attempts per resolved one; null if unknown or none is resolved."""

    cost_usd: float | None
    """US dollars for each resolved attempt."""
    tokens: float | None
    """Tokens for each resolved attempt."""
    seconds: float | None
    """Seconds for each resolved attempt."""


class SummaryDocument(Document):
    """Some attempts in numbers, over both denominators."""

    overall: RateDocument
    """The rate over all attempts."""
    judged: RateDocument
    """The rate without attempts that failed because of the task or the infrastructure."""
    tasks: int
    """The number of tasks."""
    pass_at_k: tuple[PassDocument, ...] = Field(validation_alias="passes")
    """pass@k and pass^k over all attempts."""
    judged_pass_at_k: tuple[PassDocument, ...] = Field(validation_alias="judged_passes")
    """pass@k and pass^k over judged attempts."""
    reasons: Annotated[dict[FailureReason, int], BeforeValidator(dict)]
    """The number of attempts by failure reason, in order of precedence."""
    faults: Annotated[dict[Fault, int], BeforeValidator(dict)]
    """The number of attempts by who caused the failure."""
    quarantined: int
    """The number of quarantined attempts."""
    tampered: int
    """The number of attempts whose agent changed tests or their configuration."""
    metered_attempts: int = Field(validation_alias="metered")
    """The number of attempts whose model calls were counted."""
    cost_usd: float | None
    """The cost of their model calls in US dollars; null: a price is unknown."""
    tokens: int
    """The tokens of their model calls, in and out."""
    attempt_seconds: float
    """The duration of all attempts, added up."""
    controls: Annotated[dict[ControlKind, int], BeforeValidator(dict)]
    """The tests to fix of attempts that passed the final test, by how they are controlled."""
    per_resolved: PerResolvedDocument
    """The dollars, tokens and seconds of all attempts per resolved one."""


class ResultDocument(Document):
    """All attempts of one agent with one model at one set of tasks."""

    label: str
    """The agent with its model, and other details that distinguish the results."""
    agent: str | None
    """The agent; null: a run without attempts."""
    agent_command: str | None
    """The shell command of the agent `command`."""
    model: str | None
    """The model; null: none."""
    base_url: str | None
    """The address of the model's server; null: the provider's own."""
    task_set: str
    """A digest of the tasks' ids and contents."""
    runs: tuple[str, ...]
    """The names of the runs that were combined."""
    summary: SummaryDocument
    """Their attempts in numbers."""


class StandingDocument(Document):
    """A run's place on a leaderboard."""

    label: str
    """The run's agent and model, and its name if these are not unique."""
    group: Annotated[str | None, BeforeValidator(lambda letters: letters or None)]
    """Letters: two runs that share one do not differ significantly; null: not tested."""
    common: RateDocument
    """The rate over the tasks that all runs have, which decides the order."""
    summary: SummaryDocument
    """The run's attempts in numbers."""


class PairDocument(Schema):
    """Two runs of a leaderboard."""

    first: str
    """The label of one run."""
    second: str
    """The label of the other."""
    tasks: int
    """The number of tasks that both have."""
    p_value: float
    """The p value of their difference, corrected for the number of pairs (Holm)."""


class LeaderboardDocument(Schema):
    """Runs, the best first."""

    tasks: int
    """The number of tasks of any run."""
    common_tasks: int
    """The number of tasks that all runs have."""
    standings: tuple[StandingDocument, ...]
    """The runs, the best first."""
    pairs: tuple[PairDocument, ...]
    """The tests of each two runs with a common task."""

    @classmethod
    def of(cls, leaderboard: Leaderboard) -> "LeaderboardDocument":
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
    """The output of `agentbench report --format json` and `agentbench run --json`."""

    schema_version: Literal[1] = 1
    """The version of this format."""
    results: tuple[ResultDocument, ...]
    """One result for each agent with a model on a set of tasks."""
    leaderboard: LeaderboardDocument | None
    """The runs in order; null: there is only one."""
    attempts: tuple[dict[str, object], ...]
    """The records of the attempts, each as attempt-record.json describes it."""


class DifferenceDocument(Schema):
    """A difference, its test, and their meaning."""

    tasks: int
    """The number of common tasks."""
    difference: float
    """The second run's rate minus the first one's: the mean over these tasks."""
    confidence: float
    """The confidence of the interval: 1 - alpha."""
    interval: tuple[float, float]
    """The interval of the difference; it excludes 0 exactly if the difference is significant."""
    test: str
    """The name of the statistical test."""
    p_value: float
    """The two-sided p value."""
    alpha: float
    """The level of the test."""
    is_significant: bool
    """Whether the p value is below alpha."""
    verdict: str
    """The result in words."""
    detectable: float | None
    """The smallest detectable difference with this number of tasks; null: none."""

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceDocument":
        return cls(
            **{one.name: getattr(difference, one.name) for one in fields(difference)},
            confidence=1 - difference.alpha,
            is_significant=difference.is_significant,
            verdict=statement(difference).verdict,
        )


class CountDocument(Document):
    """Attempts at one task."""

    resolved: int
    """The number of resolved attempts."""
    total: int
    """The number of attempts."""


class FlipDocument(Document):
    """A task with different resolved shares in both runs."""

    task_id: TaskId
    """The task."""
    first: CountDocument
    """The attempts of the first run."""
    second: CountDocument
    """The attempts of the second run."""


class InterpreterDocument(Document):
    """A task that ran with another Python, or in another image, in the second run."""

    task_id: TaskId
    """The task."""
    first: str
    """The Python or the image of the first run."""
    second: str
    """The Python or the image of the second run."""


class SideDocument(SummaryDocument):
    """One of two runs: its attempts at shared tasks."""

    label: str
    """The name of the run."""

    @classmethod
    def of(cls, label: str, summary: ResultSummary) -> "SideDocument":
        return cls(label=label, **dict(SummaryDocument.model_validate(summary)))


class ComparisonDocument(Schema):
    """The output of `agentbench compare --json`."""

    schema_version: Literal[1] = 1
    """The version of this format."""
    first: SideDocument
    """The first run's attempts at common tasks."""
    second: SideDocument
    """The second run's attempts at common tasks."""
    tasks: int
    """The number of common tasks."""
    overall: DifferenceDocument
    """The difference over all attempts."""
    judged: DifferenceDocument | None
    """The difference over judged attempts; null: no common task has one in both runs."""
    gained: tuple[FlipDocument, ...]
    """Tasks with a larger resolved share in the second run."""
    lost: tuple[FlipDocument, ...]
    """Tasks with a smaller resolved share in the second run."""
    only_first: tuple[TaskId, ...]
    """Tasks that only the first run has."""
    only_second: tuple[TaskId, ...]
    """Tasks that only the second run has."""
    changed_tasks: tuple[TaskId, ...]
    """Common tasks with different contents."""
    changed_interpreters: tuple[InterpreterDocument, ...]
    """Common tasks that ran with another Python, or in another image."""

    @classmethod
    def of(cls, comparison: Comparison, names: tuple[str, str]) -> "ComparisonDocument":
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
    return {name: render_schema(model, title) for name, (model, title) in _DOCUMENTS.items()}


def write_schemas(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render_schemas().items():
        (folder / name).write_text(text, "utf-8")


class _DescribedSchema(GenerateJsonSchema):
    """A JSON Schema with the docstrings of fields as their descriptions."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        document = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        docstrings = field_docstrings(model)
        for name, field in model.model_fields.items():
            described = document["properties"][field.serialization_alias or name]
            if name in docstrings:
                described["description"] = docstrings[name]
        return document


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """The text after each field that has one, also of inherited fields."""
    found: dict[str, str] = {}
    for base in (each for each in reversed(model.__mro__) if issubclass(each, Schema)):
        (definition,) = python_syntax.parse(inspect.getsource(base)).body
        assert isinstance(definition, ast.ClassDef)
        for field, after in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                found[ast.unparse(field.target)] = str(python_syntax.literal(ast.unparse(after)))
    return found


def render_schema(model: type[BaseModel], title: str) -> str:
    """The schema of a model as the text of a file."""
    schema = model.model_json_schema(mode="serialization", schema_generator=_DescribedSchema)
    head = {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": title}
    return json.dumps(head, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
