"""A pytest run's result, in ADR-006's form with a few more fields, and a reporter's session."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field, SkipValidation

from agentbench.core.schema import JsonObject, Schema
from agentbench.scoring import evidence
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource

_CUT_OFF_MESSAGE = "the run ended before this test did"


def nothing_reported() -> evidence.ReportFacts:
    """The facts of a run before its reports are read."""
    return evidence.ReportFacts(
        outcome=evidence.PytestOutcome.UNVERIFIED, source=ReportSource.EXIT_CODE, complete=False
    )


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
    """One test. `phases` counts its reports of setup, call and teardown, without repeated ones."""

    # Not a Schema: a run may have 100,000 of them, and a model takes seven times the memory.

    node_id: evidence.NodeId
    outcome: evidence.CaseOutcome
    duration: float
    message: str | None = None
    traceback: str | None = None
    phases: Annotated[tuple[int, int, int], Field(exclude=True)] = (0, 0, 0)
    names: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    """How unittest prints it: its class and method, and its documentation. Pytest has none."""


class CollectionError(Schema):
    """A file (or node) that could not be collected."""

    file: str
    message: str
    traceback: str = ""
    fact: Annotated[evidence.CollectionFact | None, Field(exclude=True)] = None


class Versions(Schema):
    """The versions that ran the tests. `in_project`: pytest itself is in the project's tree."""

    pytest: str  # empty for another runner
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
    partial_facts: Annotated[
        evidence.ReportFacts, Field(default_factory=nothing_reported, exclude=True)
    ]
    """What the runner said of the run as a whole; `parse.facts_of` adds the rest."""


class PhaseName(StrEnum):
    """A phase of a test."""

    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class PhaseOutcome(StrEnum):
    """The outcomes of a phase, the best one first."""

    PASSED = "passed"
    RERUN = "rerun"  # it failed, and a plugin repeats the test
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One report about one phase of a test."""

    when: PhaseName
    outcome: PhaseOutcome
    message: str | None = None
    traceback: str | None = None
    expected_to_fail: bool = False
    is_subtest: bool = False


PASSED_PHASES = {when.value: Phase(when=when, outcome=PhaseOutcome.PASSED) for when in PhaseName}
"""The phases without details by outcome; most phases have none, and share these objects."""

PASSED_AT_ONCE = tuple(PASSED_PHASES.values())  # the phases of a test that passed on its first run
_OUTCOMES = {outcome.value: outcome for outcome in PhaseOutcome}
_OUTCOMES["retried"] = PhaseOutcome.RERUN  # pytest-retry's word


def parse_phase(when: object, outcome: object) -> tuple[PhaseName, PhaseOutcome]:
    """Parse a reporter's words; with an unknown word, the phase is a failed call."""
    # xdist reports '???' for the phase in which a worker died, and plugins may invent outcomes.
    if isinstance(when, str) and when in PASSED_PHASES and isinstance(outcome, str):
        return PASSED_PHASES[when].when, _OUTCOMES.get(outcome, PhaseOutcome.FAILED)
    return PhaseName.CALL, PhaseOutcome.FAILED


@dataclass(slots=True, kw_only=True)
class ReportedSession:
    """A session, filled while its report is read."""

    source: ReportSource
    phases: dict[NodeId, tuple[Phase, ...]] = field(default_factory=dict)  # of tests that began
    durations: dict[NodeId, float] = field(default_factory=dict)  # of all phases of a test
    results: dict[NodeId, CaseResult] = field(default_factory=dict)  # results without phases
    collected: dict[NodeId, None] = field(default_factory=dict)  # an ordered set
    names: dict[NodeId, tuple[str, ...]] = field(default_factory=dict)  # by unittest
    collected_count: int | None = None  # if the ids are unknown
    deselected: int = 0
    collection_errors: list[CollectionError] = field(default_factory=list)
    started: bool = False
    collection_finished: bool = False
    finished: bool = False
    exit_status: int | None = None  # the exit code by pytest itself
    duration: float | None = None
    spawn_error: str | None = None
    detail: str | None = None
    versions: Versions | None = None
    root: str = ""  # the folder that the tests run in
    internals_changed: list[str] = field(default_factory=list)  # may have many repetitions
    partial_facts: evidence.ReportFacts = field(default_factory=nothing_reported)
    """What the runner said of the run as a whole, for the record."""
    json_report: JsonObject = field(default_factory=dict)
    report_left_out: bool = False  # the report exists, but is too large to be stored

    def add(self, node_id: NodeId, *phases: Phase, duration: float = 0.0) -> None:
        known = self.phases.get(node_id)
        self.phases[node_id] = phases if known is None else known + phases
        self.durations[node_id] = self.durations.get(node_id, 0.0) + duration

    def begin(self, node_id: NodeId) -> None:
        # A plugin may repeat a test (pytest-rerunfailures, pytest-retry, flaky), and may report no
        # call of the run that it repeats. So the last run counts, and earlier ones only with a
        # failure that the plugin did not take back.
        earlier = self.phases.get(node_id, ())
        failed = tuple(phase for phase in earlier if phase.outcome is PhaseOutcome.FAILED)
        self.phases[node_id] = failed
        self.durations.setdefault(node_id, 0.0)

    def add_result(self, case: CaseResult) -> None:
        """Add a result; of two results for one test, the one that did not pass counts."""
        known = self.results.get(case.node_id)
        if known is None or known.outcome is CaseOutcome.PASSED:
            self.results[case.node_id] = case

    def add_skipped_file(self, file: NodeId, reason: str) -> None:
        skipped = CaseOutcome.SKIPPED
        self.add_result(CaseResult(node_id=file, outcome=skipped, duration=0.0, message=reason))

    def add_collection_error(self, error: CollectionError) -> None:
        """Add an error once; every worker and every parent of a file may repeat it."""
        if error not in self.collection_errors:
            self.collection_errors.append(error)


def cases_of(session: ReportedSession) -> tuple[CaseResult, ...]:
    """All tests that started, and results without phases, such as skipped files."""
    phases_of, durations = session.phases, session.durations
    cases = [case_result(test, phases_of[test], durations.get(test, 0.0)) for test in phases_of]
    if names := session.names:
        cases = [replace(case, names=names.get(case.node_id, ())) for case in cases]
    without_phases = [case for node_id, case in session.results.items() if node_id not in phases_of]
    return (*cases, *without_phases)


def case_result(node_id: NodeId, phases: tuple[Phase, ...], duration: float = 0.0) -> CaseResult:
    """The result of one test, however often it ran."""
    if phases == PASSED_AT_ONCE:
        return CaseResult(
            node_id=node_id, outcome=CaseOutcome.PASSED, duration=duration, phases=(1, 1, 1)
        )
    own = [phase for phase in phases if not phase.is_subtest]
    outcome, decisive = _worst_phase(phases, own)
    failed = outcome in (CaseOutcome.FAILED, CaseOutcome.ERROR)
    message = decisive.message if decisive is not None else None
    final = [phase for phase in own if phase.outcome is not PhaseOutcome.RERUN]
    setups, calls, teardowns = (_count_phases(final, when) for when in PhaseName)
    return CaseResult(
        node_id=node_id,
        outcome=outcome,
        duration=duration,
        message=_CUT_OFF_MESSAGE if outcome is CaseOutcome.UNFINISHED else message,
        traceback=decisive.traceback if failed and decisive is not None else None,
        phases=(setups, calls, teardowns),
    )


def has_passed(phases: tuple[Phase, ...]) -> bool:
    """Whether a test simply passed."""
    own = [phase for phase in phases if not phase.is_subtest]
    return phases == PASSED_AT_ONCE or _worst_phase(phases, own)[0] is CaseOutcome.PASSED


def _worst_phase(phases: tuple[Phase, ...], own: list[Phase]) -> tuple[CaseOutcome, Phase | None]:
    failed = [phase for phase in phases if phase.outcome is PhaseOutcome.FAILED]
    in_call = [phase for phase in failed if phase.when is PhaseName.CALL]
    if failed:
        # A test with a failed subtest only says so; the subtest says why.
        in_call.sort(key=lambda phase: not phase.is_subtest)
        word = CaseOutcome.FAILED if in_call else CaseOutcome.ERROR
        return word, (in_call or failed)[0]
    # After KeyboardInterrupt and pytest.exit a test has no call, after a kill no teardown. A run
    # that a plugin repeats has no teardown of its own.
    setups, calls, teardowns = (_count_phases(own, when) for when in PhaseName)
    passed = [phase for phase in own if phase.outcome is PhaseOutcome.PASSED]
    reruns = sum(phase.outcome is PhaseOutcome.RERUN for phase in own)
    ended = setups > 0 and teardowns > 0 and teardowns + reruns >= setups
    if not ended or calls < _count_phases(passed, PhaseName.SETUP):
        return CaseOutcome.UNFINISHED, None
    for phase in own:
        if phase.outcome is PhaseOutcome.SKIPPED:
            word = CaseOutcome.XFAILED if phase.expected_to_fail else CaseOutcome.SKIPPED
            return word, phase
    for phase in own:
        if phase.when is PhaseName.CALL and phase.expected_to_fail:
            return CaseOutcome.XPASSED, phase
    return CaseOutcome.PASSED, None


def _count_phases(phases: Iterable[Phase], when: PhaseName) -> int:
    return sum(phase.when is when for phase in phases)
