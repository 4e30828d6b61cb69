"""What one reporter saw of a pytest session, and how the phases of a test become one result."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from agentbench.core.schema import JsonObject
from agentbench.pytest_results.model import CaseResult, CollectionError, Versions
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource


class PhaseName(StrEnum):
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

    when: PhaseName
    outcome: PhaseOutcome
    message: str | None = None
    traceback: str | None = None
    expected_to_fail: bool = False
    is_subtest: bool = False


PASSED_PHASES = {when.value: Phase(when=when, outcome=PhaseOutcome.PASSED) for when in PhaseName}
"""The phases that have nothing to tell, by their word: shared, for most phases are such."""

PASSED_AT_ONCE = tuple(PASSED_PHASES.values())
"""The phases of a test that passed at its first run."""

_OUTCOMES = {outcome.value: outcome for outcome in PhaseOutcome}


def parse_phase(when: object, outcome: object) -> tuple[PhaseName, PhaseOutcome]:
    """The words of a reporter; one that is not known makes the phase a failed call.

    xdist says '???' for the phase in which a worker died, and plugins may invent outcomes.
    """
    if isinstance(when, str) and when in PASSED_PHASES and isinstance(outcome, str):
        return PASSED_PHASES[when].when, _OUTCOMES.get(outcome, PhaseOutcome.FAILED)
    return PhaseName.CALL, PhaseOutcome.FAILED


@dataclass(slots=True, kw_only=True)
class ReportedSession:
    """A session as it was told; filled while its report is read."""

    source: ReportSource
    phases: dict[NodeId, tuple[Phase, ...]] = field(default_factory=dict)  # of tests that began
    durations: dict[NodeId, float] = field(default_factory=dict)  # of all phases of a test
    results: dict[NodeId, CaseResult] = field(default_factory=dict)  # results without phases
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

    def add_result(self, case: CaseResult) -> None:
        """Take a result over as it is; of two for one test the one that did not pass stays."""
        known = self.results.get(case.node_id)
        if known is None or known.outcome is CaseOutcome.PASSED:
            self.results[case.node_id] = case

    def add_skipped_file(self, file: NodeId, reason: str) -> None:
        """Take over that a file was skipped as a whole."""
        self.add_result(
            CaseResult(node_id=file, outcome=CaseOutcome.SKIPPED, duration=0.0, message=reason)
        )

    def add_collection_error(self, error: CollectionError) -> None:
        """Remember an error once; every worker and every parent of a file may tell it again."""
        if error not in self.collection_errors:
            self.collection_errors.append(error)


_CUT_OFF_MESSAGE = "the run ended before this test did"


def cases_of(session: ReportedSession) -> tuple[CaseResult, ...]:
    """Every test that began, and what was told without phases: files skipped as a whole."""
    durations = session.durations
    cases = [
        case_result(node_id, phases, durations.get(node_id, 0.0))
        for node_id, phases in session.phases.items()
    ]
    told = [case for node_id, case in session.results.items() if node_id not in session.phases]
    return (*cases, *told)


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
    return CaseResult(
        node_id=node_id,
        outcome=outcome,
        duration=duration,
        message=_CUT_OFF_MESSAGE if outcome is CaseOutcome.UNFINISHED else message,
        traceback=decisive.traceback if failed and decisive is not None else None,
        phases=(
            _count_phases(own, PhaseName.SETUP),
            _count_phases(own, PhaseName.CALL),
            _count_phases(own, PhaseName.TEARDOWN),
        ),
    )


def has_passed(phases: tuple[Phase, ...]) -> bool:
    """Whether a test passed, no more and no less."""
    own = [phase for phase in phases if not phase.is_subtest]
    return phases == PASSED_AT_ONCE or _worst_phase(phases, own)[0] is CaseOutcome.PASSED


def _worst_phase(phases: tuple[Phase, ...], own: list[Phase]) -> tuple[CaseOutcome, Phase | None]:
    failed = [phase for phase in phases if phase.outcome is PhaseOutcome.FAILED]
    in_call = [phase for phase in failed if phase.when is PhaseName.CALL]
    if failed:
        # A test that holds a failed subtest says only that it does: the subtest says why.
        in_call.sort(key=lambda phase: not phase.is_subtest)
        word = CaseOutcome.FAILED if in_call else CaseOutcome.ERROR
        return word, (in_call or failed)[0]
    if _cut_off(own):
        return CaseOutcome.UNFINISHED, None
    for phase in own:
        if phase.outcome is PhaseOutcome.SKIPPED:
            word = CaseOutcome.XFAILED if phase.expected_to_fail else CaseOutcome.SKIPPED
            return word, phase
    for phase in own:
        if phase.when is PhaseName.CALL and phase.expected_to_fail:
            return CaseOutcome.XPASSED, phase
    return CaseOutcome.PASSED, None


def _cut_off(own: list[Phase]) -> bool:
    """Whether a phase is missing that should have followed.

    KeyboardInterrupt and pytest.exit leave a test without its call, a kill without its teardown.
    A run that a plugin repeats has no teardown of its own.
    """
    setups, teardowns = _count_phases(own, PhaseName.SETUP), _count_phases(own, PhaseName.TEARDOWN)
    passed_setups = _count_phases(
        (phase for phase in own if phase.outcome is PhaseOutcome.PASSED), PhaseName.SETUP
    )
    reruns = sum(phase.outcome is PhaseOutcome.RERUN for phase in own)
    return (
        setups == 0
        or teardowns == 0
        or teardowns + reruns < setups
        or _count_phases(own, PhaseName.CALL) < passed_setups
    )


def _count_phases(phases: Iterable[Phase], when: PhaseName) -> int:
    return sum(phase.when is when for phase in phases)
