"""Puts together what the reporters told: sessions to a result, a result to facts."""

from collections import Counter
from collections.abc import Collection

from agentbench.pytest_results.cases import cases_of, passed
from agentbench.pytest_results.collection_cause import collection_fact
from agentbench.pytest_results.model import CaseResult, CollectionError, PytestResult, Summary
from agentbench.pytest_results.outcome import Ended, decide
from agentbench.pytest_results.session import Session
from agentbench.scoring.evidence import (
    CaseFact,
    CaseOutcome,
    CollectionFact,
    PytestOutcome,
    ReportFacts,
)

_FACTS = 100  # files that could not be collected and are described on a record


def result_of(session: Session, ended: Ended, *, text_output: str = "") -> PytestResult:
    """The result of a run, from what a reporter saw of it and how its process ended."""
    cases = cases_of(session)
    outcome = decide(ended, session, cases)
    return PytestResult(
        exit_code=ended.exit_code,
        summary=_summary(session, cases),
        tests=cases,
        json_report=session.json_report,
        text_output=text_output,
        collection_errors=tuple(session.collection_errors),
        outcome=outcome,
        complete=session.finished,
        source=session.source,
        spawn_error=_spawn_error(outcome, session, ended),
        detail=session.detail,
        versions=session.versions,
        omitted=("json_report",) if session.report_left_out else (),
        internals_changed=tuple(dict.fromkeys(session.internals_changed)),
    )


def merge(stream: Session, report: Session) -> Session:
    """The stream's session, with the report beside it; where the two differ, no test gains by it.

    A report alone stands in for a stream that never started.
    """
    if not stream.started:
        report.internals_changed += stream.internals_changed
        report.spawn_error = stream.spawn_error
        return report
    stream.json_report = report.json_report
    for node_id, told in stream.phases.items():
        reported = report.phases.get(node_id)
        if reported is not None and passed(told) and not passed(reported):
            stream.phases[node_id] = reported
    return stream


def facts_of(result: PytestResult) -> ReportFacts:
    """What a judgement needs of a result."""
    counts = Counter(case.outcome for case in result.tests)
    return ReportFacts(
        outcome=result.outcome,
        source=result.source,
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
            )
            for case in result.tests
        ),
        collection_errors=tuple(error.file for error in result.collection_errors),
        collection_facts=tuple(map(_fact_of, result.collection_errors[:_FACTS])),
        internals_changed=result.internals_changed,
        python=result.versions.python if result.versions is not None else None,
    )


def _fact_of(error: CollectionError) -> CollectionFact:
    """What the stream told; of another reporter's word only the message is used."""
    return error.fact or collection_fact(error.file, error.message, "", "")


def _summary(session: Session, cases: Collection[CaseResult]) -> Summary:
    counts = Counter(case.outcome for case in cases)
    known = len(session.collected) or session.collected_count
    elapsed = sum(case.duration for case in cases)
    return Summary(
        total=len(cases),
        passed=counts[CaseOutcome.PASSED],
        failed=counts[CaseOutcome.FAILED],
        skipped=counts[CaseOutcome.SKIPPED],
        errors=counts[CaseOutcome.ERROR] + len(session.collection_errors),
        duration=elapsed if session.duration is None else session.duration,
        xfailed=counts[CaseOutcome.XFAILED],
        xpassed=counts[CaseOutcome.XPASSED],
        unfinished=counts[CaseOutcome.UNFINISHED],
        deselected=session.deselected,
        collected=len(session.phases) if known is None else known,
    )


def _spawn_error(outcome: PytestOutcome, session: Session, ended: Ended) -> str | None:
    if outcome is not PytestOutcome.SPAWN or session.spawn_error is not None:
        return session.spawn_error
    match ended.exit_code:
        case 126:
            return "the interpreter may not be executed (exit 126)"
        case 127:
            return "there is no such interpreter (exit 127)"
        case _:
            return "the sandbox was lost"
