"""Folds the phases of a test into one result: the worst of them decides."""

from collections.abc import Iterable

from agentbench.pytest_results.model import CaseResult
from agentbench.pytest_results.session import CLEAN, Phase, PhaseOutcome, Session, When
from agentbench.scoring.evidence import CaseOutcome, NodeId

_CUT_OFF = "the run ended before this test did"


def cases_of(session: Session) -> tuple[CaseResult, ...]:
    """Every test that began, and what was told without phases: files skipped as a whole."""
    durations = session.durations
    cases = [
        fold(node_id, phases, durations.get(node_id, 0.0))
        for node_id, phases in session.phases.items()
    ]
    told = [case for node_id, case in session.told.items() if node_id not in session.phases]
    return (*cases, *told)


def fold(node_id: NodeId, phases: tuple[Phase, ...], duration: float = 0.0) -> CaseResult:
    """The result of one test, however often it ran."""
    if phases == CLEAN:
        return CaseResult(
            node_id=node_id, outcome=CaseOutcome.PASSED, duration=duration, phases=(1, 1, 1)
        )
    own = [phase for phase in phases if not phase.is_subtest]
    outcome, decisive = _judge(phases, own)
    failed = outcome in (CaseOutcome.FAILED, CaseOutcome.ERROR)
    message = decisive.message if decisive is not None else None
    return CaseResult(
        node_id=node_id,
        outcome=outcome,
        duration=duration,
        message=_CUT_OFF if outcome is CaseOutcome.UNFINISHED else message,
        traceback=decisive.traceback if failed and decisive is not None else None,
        phases=(_number(own, When.SETUP), _number(own, When.CALL), _number(own, When.TEARDOWN)),
    )


def passed(phases: tuple[Phase, ...]) -> bool:
    """Whether a test passed, no more and no less."""
    own = [phase for phase in phases if not phase.is_subtest]
    return phases == CLEAN or _judge(phases, own)[0] is CaseOutcome.PASSED


def _judge(phases: tuple[Phase, ...], own: list[Phase]) -> tuple[CaseOutcome, Phase | None]:
    failed = [phase for phase in phases if phase.outcome is PhaseOutcome.FAILED]
    in_call = [phase for phase in failed if phase.when is When.CALL]
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
        if phase.when is When.CALL and phase.expected_to_fail:
            return CaseOutcome.XPASSED, phase
    return CaseOutcome.PASSED, None


def _cut_off(own: list[Phase]) -> bool:
    """Whether a phase is missing that should have followed.

    KeyboardInterrupt and pytest.exit leave a test without its call, a kill without its teardown.
    A run that a plugin repeats has no teardown of its own.
    """
    setups, teardowns = _number(own, When.SETUP), _number(own, When.TEARDOWN)
    passed_setups = _number(
        (phase for phase in own if phase.outcome is PhaseOutcome.PASSED), When.SETUP
    )
    reruns = sum(phase.outcome is PhaseOutcome.RERUN for phase in own)
    return (
        setups == 0
        or teardowns == 0
        or teardowns + reruns < setups
        or _number(own, When.CALL) < passed_setups
    )


def _number(phases: Iterable[Phase], when: When) -> int:
    return sum(phase.when is when for phase in phases)
