"""What one reporter saw of a pytest session, in terms that all reporters share."""

from dataclasses import dataclass, field
from enum import StrEnum

from agentbench.pytest_results.model import CaseResult, CollectionError, JsonObject, Versions
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource


class When(StrEnum):
    """A phase of a test."""

    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class PhaseOutcome(StrEnum):
    """What a reporter says of a phase, the best first."""

    PASSED = "passed"
    RERUN = "rerun"  # it failed, and a plugin tries again
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One report about one phase of a test."""

    when: When
    outcome: PhaseOutcome
    message: str | None = None
    traceback: str | None = None
    expected_to_fail: bool = False
    is_subtest: bool = False


PASSED = {when.value: Phase(when=when, outcome=PhaseOutcome.PASSED) for when in When}
"""The phases that have nothing to tell, by their word: shared, for most phases are such."""

CLEAN = tuple(PASSED.values())
"""The phases of a test that passed at its first run."""

_OUTCOMES = {outcome.value: outcome for outcome in PhaseOutcome}


def phase_words(when: object, outcome: object) -> tuple[When, PhaseOutcome]:
    """The words of a reporter; one that is not known makes the phase a failed call.

    xdist says '???' for the phase in which a worker died, and plugins may invent outcomes.
    """
    if isinstance(when, str) and when in PASSED and isinstance(outcome, str):
        return PASSED[when].when, _OUTCOMES.get(outcome, PhaseOutcome.FAILED)
    return When.CALL, PhaseOutcome.FAILED


@dataclass(slots=True, kw_only=True)
class Session:
    """A session as it was told; filled while its report is read."""

    source: ReportSource
    phases: dict[NodeId, tuple[Phase, ...]] = field(default_factory=dict)  # of tests that began
    durations: dict[NodeId, float] = field(default_factory=dict)  # of all phases of a test
    told: dict[NodeId, CaseResult] = field(default_factory=dict)  # results without phases
    collected: dict[NodeId, None] = field(default_factory=dict)  # an ordered set
    collected_count: int | None = None  # where the ids are not told
    deselected: int = 0
    collection_errors: list[CollectionError] = field(default_factory=list)
    started: bool = False
    collection_finished: bool = False
    finished: bool = False
    exit_status: int | None = None  # what pytest itself says it will exit with
    duration: float | None = None
    spawn_error: str | None = None
    detail: str | None = None
    versions: Versions | None = None
    root: str = ""  # the folder that the tests run in
    internals_changed: list[str] = field(default_factory=list)
    json_report: JsonObject = field(default_factory=dict)
    report_left_out: bool = False  # it was there, and too large to be kept

    def add(self, node_id: NodeId, *phases: Phase, duration: float = 0.0) -> None:
        """Add phases of a test and what they took; without any, the test counts as begun."""
        known = self.phases.get(node_id)
        self.phases[node_id] = phases if known is None else known + phases
        self.durations[node_id] = self.durations.get(node_id, 0.0) + duration

    def tell(self, case: CaseResult) -> None:
        """Take a result over as it is; of two for one test the one that did not pass stays."""
        known = self.told.get(case.node_id)
        if known is None or known.outcome is CaseOutcome.PASSED:
            self.told[case.node_id] = case

    def tell_skipped(self, file: NodeId, reason: str) -> None:
        """Take over that a file was skipped as a whole."""
        self.tell(
            CaseResult(node_id=file, outcome=CaseOutcome.SKIPPED, duration=0.0, message=reason)
        )

    def add_collection_error(self, error: CollectionError) -> None:
        """Remember an error once; every worker and every parent of a file may tell it again."""
        if error not in self.collection_errors:
            self.collection_errors.append(error)
