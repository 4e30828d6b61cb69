"""Chooses the most trusted report, decides the outcome (table in docs/mcp.md), builds the result.

The stream comes first, then pytest-json-report, junit XML, the printed text and the exit code.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from agentbench.core import untrusted_json
from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    CaseFact,
    CaseOutcome,
    Ending,
    PytestOutcome,
    ReportFacts,
    ReportSource,
    ReportTrust,
)
from agentbench.test_runs import fallback
from agentbench.test_runs.fallback import collection_fact
from agentbench.test_runs.model import (
    CaseResult,
    PytestResult,
    PytestSummary,
    ReportedSession,
    cases_of,
    has_passed,
)
from agentbench.test_runs.stream import lines_of, read_stream

_NO_PROGRAM = {  # a shell's codes
    126: "the interpreter may not be executed (exit 126)",
    127: "there is no such interpreter (exit 127)",
}
_PLAIN_CODES: dict[int | None, PytestOutcome] = {
    2: PytestOutcome.INTERRUPTED,
    3: PytestOutcome.PYTEST_INTERNAL,
    4: PytestOutcome.USAGE,
}
# junit and the text do not say which tests were collected, and any test can forge the text.
_CAN_PASS = (ReportSource.STREAM, ReportSource.JSON_REPORT)
_MAX_COLLECTION_FACTS = 100  # of files that could not be collected, in a record


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestExit:
    """How the process of a run ended, and its request."""

    ending: Ending
    exit_code: int | None
    collect_only: bool = False


def decide_outcome(
    ended: PytestExit, session: ReportedSession, cases: Collection[CaseResult]
) -> PytestOutcome:
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
    ended: PytestExit, session: ReportedSession, cases: Collection[CaseResult]
) -> PytestOutcome:
    if ended.exit_code in _NO_PROGRAM and not session.started:
        return PytestOutcome.SPAWN
    if session.collection_errors:
        return PytestOutcome.COLLECTION_ERROR
    match ended.exit_code:
        case 0:
            # Every collected test ran to its end, and none failed.
            evident = _agrees(session, 0) and session.source in _CAN_PASS
            evident = evident and session.collection_finished
            if ended.collect_only:
                evident = evident and not session.phases
            else:
                enough = len(session.phases) >= max(1, session.collected_count or 0)
                everything = session.collected.keys() <= session.phases.keys()
                failed = any(case.outcome in FAILING_OUTCOMES for case in cases)
                evident = evident and everything and enough and not failed
            return PytestOutcome.PASSED if evident else PytestOutcome.UNVERIFIED
        case 1:
            return PytestOutcome.FAILED if _agrees(session, 1) else PytestOutcome.UNVERIFIED
        case 5:
            skipped = all(case.outcome is CaseOutcome.SKIPPED for case in session.results.values())
            evident = _agrees(session, 5) and skipped and not session.phases
            return PytestOutcome.NO_TESTS if evident else PytestOutcome.UNVERIFIED
        case code:
            return _PLAIN_CODES.get(code, PytestOutcome.CRASH)


def _agrees(session: ReportedSession, exit_code: int) -> bool:
    # A junit file has no exit code.
    by_code = session.exit_status == exit_code or session.source is ReportSource.JUNIT
    return session.finished and by_code


def result_of(
    session: ReportedSession, ended: PytestExit, *, text_output: str = ""
) -> PytestResult:
    """The result of a run, from a reporter's session and from how its process ended."""
    cases = cases_of(session)
    return result_with(session, ended, cases, decide_outcome(ended, session, cases), text_output)


def result_with(
    session: ReportedSession,
    ended: PytestExit,
    cases: tuple[CaseResult, ...],
    outcome: PytestOutcome,
    text_output: str,
) -> PytestResult:
    """The result of a run whose cases and outcome are known."""
    counts = Counter(case.outcome for case in cases)
    known = len(session.collected) or session.collected_count
    elapsed = sum(case.duration for case in cases)
    summary = PytestSummary(
        total=len(cases),
        **{one.value: counts[one] for one in CaseOutcome if one is not CaseOutcome.ERROR},
        errors=counts[CaseOutcome.ERROR] + len(session.collection_errors),
        duration=elapsed if session.duration is None else session.duration,
        deselected=session.deselected,
        collected=len(session.phases) if known is None else known,
    )
    spawn_error = session.spawn_error
    if outcome is PytestOutcome.SPAWN and spawn_error is None:
        spawn_error = _NO_PROGRAM.get(ended.exit_code or 0, "the sandbox was lost")
    return PytestResult(
        exit_code=ended.exit_code,
        summary=summary,
        tests=cases,
        json_report=session.json_report,
        text_output=text_output,
        collection_errors=tuple(session.collection_errors),
        outcome=outcome,
        complete=session.finished,
        source=session.source,
        spawn_error=spawn_error,
        detail=session.detail,
        versions=session.versions,
        omitted=("json_report",) if session.report_left_out else (),
        partial_facts=session.partial_facts,
    )


def merge_sessions(stream: ReportedSession, report: ReportedSession) -> ReportedSession:
    """The stream's session, or the report's if it never started; a test's worse result counts."""
    if not stream.started:
        report.partial_facts = stream.partial_facts
        report.spawn_error = stream.spawn_error
        return report
    stream.json_report = report.json_report
    for node_id, streamed in stream.phases.items():
        reported = report.phases.get(node_id)
        if reported is not None and has_passed(streamed) and not has_passed(reported):
            stream.phases[node_id] = reported
    return stream


def facts_of(result: PytestResult, trust: ReportTrust) -> ReportFacts:
    """The part of a result that a verdict needs."""
    counts = Counter(case.outcome for case in result.tests)
    return result.partial_facts.replace(
        outcome=result.outcome,
        source=result.source,
        trust=trust,
        complete=result.complete,
        collected=result.summary.collected,
        passed=counts[CaseOutcome.PASSED],
        failed=counts[CaseOutcome.FAILED] + counts[CaseOutcome.ERROR],
        cases=tuple(
            CaseFact(
                node_id=case.node_id,
                outcome=case.outcome,
                phases=case.phases,
                duration=case.duration,
                names=case.names,
            )
            for case in result.tests
        ),
        collection_errors=tuple(error.file for error in result.collection_errors),
        collection_facts=tuple(
            error.fact or collection_fact(error.file, error.message, "", "")
            for error in result.collection_errors[:_MAX_COLLECTION_FACTS]
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """The files of the reporters; None for a missing or refused one."""

    stream: str | None = None
    json_report: str | None = None
    junit: str | None = None
    recordings: str | None = None  # of a sealed run


def session_of(
    files: ReportFiles, text_output: str, *, report_limit: int | None = None
) -> ReportedSession:
    """The session by the most trusted source.

    Args:
        files: The files of the reporters.
        text_output: The output of pytest.
        report_limit: Characters; a larger JSON report is used, but not stored beside a stream.
    """
    stream = read_stream(lines_of(files.stream or ""))
    report_text = files.json_report or ""
    parsed = untrusted_json.json_object(report_text)
    report = fallback.read_json_report(parsed) if parsed is not None else None
    if report is not None and (stream.started or report.finished):
        session = merge_sessions(stream, report)
        if stream.started and report_limit is not None and len(report_text) > report_limit:
            session.json_report, session.report_left_out = {}, True
        return session
    if stream.started or stream.spawn_error is not None:
        return stream
    junit = fallback.read_junit(files.junit) if files.junit is not None else None
    return (
        junit or fallback.read_text(text_output) or ReportedSession(source=ReportSource.EXIT_CODE)
    )
