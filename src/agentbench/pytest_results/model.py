"""The result of a pytest run, in ADR-006's form with a few more fields."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, SkipValidation

from agentbench.core.schema import JsonObject, Schema
from agentbench.scoring import evidence


class PytestSummary(Schema):
    """Tests by outcome. `errors` includes collection errors, `total` only tests."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    duration: float = 0.0  # seconds
    xfailed: int = 0
    xpassed: int = 0
    unfinished: int = 0
    deselected: int = 0
    collected: int = 0  # tests that should run, if known


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One test. `phases` counts its reports of setup, call and teardown.

    Not a Schema: a run may have 100,000 of them, and a model takes seven times the memory.
    """

    node_id: evidence.NodeId
    outcome: evidence.CaseOutcome
    duration: float
    message: str | None = None
    traceback: str | None = None
    phases: Annotated[tuple[int, int, int], Field(exclude=True)] = (0, 0, 0)


class CollectionError(Schema):
    """A file (or node) that could not be collected."""

    file: str
    message: str
    traceback: str = ""
    fact: Annotated[evidence.CollectionFact | None, Field(exclude=True)] = None


class Versions(Schema):
    """What ran the tests. `in_project`: pytest itself is in the project's tree."""

    pytest: str
    python: str
    in_project: bool = False


class PytestResult(Schema):
    """The result of a pytest run, as far as it is known."""

    exit_code: int | None
    summary: PytestSummary
    tests: tuple[CaseResult, ...] = ()
    json_report: SkipValidation[JsonObject] = Field(default_factory=dict)
    text_output: str = ""
    collection_errors: tuple[CollectionError, ...] = ()
    outcome: evidence.PytestOutcome
    complete: bool = False
    source: evidence.ReportSource
    omitted: tuple[str, ...] = ()  # parts that were omitted for size
    spawn_error: str | None = None
    detail: str | None = None  # the text of an interrupt or of an internal error
    versions: Versions | None = None
    internals_changed: Annotated[tuple[str, ...], Field(exclude=True)] = ()
