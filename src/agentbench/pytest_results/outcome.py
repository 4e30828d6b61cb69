"""Decides what a run came to, by evidence and not by its exit code alone (docs, mcp: the table)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from agentbench.pytest_results.model import CaseResult
from agentbench.pytest_results.session import Session
from agentbench.scoring.evidence import CaseOutcome, Ending, PytestOutcome, ReportSource

_NO_PROGRAM = (126, 127)  # as a shell says it: not executable, not found
_PLAIN_CODES: dict[int | None, PytestOutcome] = {
    2: PytestOutcome.INTERRUPTED,
    3: PytestOutcome.PYTEST_INTERNAL,
    4: PytestOutcome.USAGE,
}
_BAD = (CaseOutcome.FAILED, CaseOutcome.ERROR, CaseOutcome.UNFINISHED)
_CAN_PASS = (ReportSource.STREAM, ReportSource.JSON_REPORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the process of a run ended, and what it had been asked for."""

    ending: Ending
    exit_code: int | None
    collect_only: bool = False


def decide(ended: Ended, session: Session, cases: Collection[CaseResult]) -> PytestOutcome:
    """The outcome of a run."""
    if session.spawn_error is not None:
        return PytestOutcome.SPAWN
    match ended.ending:
        case Ending.LOST:
            return PytestOutcome.SPAWN
        case Ending.TIMED_OUT:
            return PytestOutcome.TIMEOUT
        case Ending.OUT_OF_MEMORY | Ending.OUT_OF_DISK | Ending.KILLED:
            return PytestOutcome.CRASH
        case Ending.EXITED:
            return _decide_by_exit_code(ended, session, cases)
    assert_never(ended.ending)


def _decide_by_exit_code(
    ended: Ended, session: Session, cases: Collection[CaseResult]
) -> PytestOutcome:
    if ended.exit_code in _NO_PROGRAM and not session.started:
        return PytestOutcome.SPAWN
    if session.collection_errors:
        return PytestOutcome.COLLECTION_ERROR
    match ended.exit_code:
        case 0:
            evident = _agrees(session, 0) and _all_passed(ended, session, cases)
            return PytestOutcome.PASSED if evident else PytestOutcome.UNVERIFIED
        case 1:
            return PytestOutcome.FAILED if _agrees(session, 1) else PytestOutcome.UNVERIFIED
        case 5:
            evident = _agrees(session, 5) and _nothing_ran(session)
            return PytestOutcome.NO_TESTS if evident else PytestOutcome.UNVERIFIED
        case code:
            return _PLAIN_CODES.get(code, PytestOutcome.CRASH)


def _agrees(session: Session, exit_code: int) -> bool:
    """Whether the session was finished with this exit code; a junit file names none."""
    by_code = session.exit_status == exit_code or session.source is ReportSource.JUNIT
    return session.finished and by_code


def _nothing_ran(session: Session) -> bool:
    skipped = all(case.outcome is CaseOutcome.SKIPPED for case in session.told.values())
    return skipped and not session.phases


def _all_passed(ended: Ended, session: Session, cases: Collection[CaseResult]) -> bool:
    """Whether every collected test ran to its end and none of them failed."""
    if session.source not in _CAN_PASS or not session.collection_finished:
        return False
    if ended.collect_only:
        return not session.phases
    everything = session.collected.keys() <= session.phases.keys()
    enough = len(session.phases) >= max(1, session.collected_count or 0)
    return everything and enough and not any(case.outcome in _BAD for case in cases)
