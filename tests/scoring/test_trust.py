"""What a report may decide, by its trust."""

from datetime import timedelta

import pytest

from agentbench.scoring.evidence import (
    CaseFact,
    CaseOutcome,
    CommandResult,
    Ending,
    PytestOutcome,
    ReportFacts,
    ReportSource,
    ReportTrust,
)
from agentbench.scoring.trust import Lack, distrust_of, lack_of_fixed, lack_of_regression_test

STREAM, EXTERNAL = ReportTrust.IN_PROCESS_STREAM, ReportTrust.EXTERNAL_REPORT


def facts(trust, source, *, failed=0):
    outcome = PytestOutcome.FAILED if failed else PytestOutcome.PASSED
    return ReportFacts(outcome=outcome, source=source, complete=True, failed=failed, trust=trust)


def command(exit_code, ending=Ending.EXITED):
    return CommandResult(
        argv=("runner",), ending=ending, exit_code=exit_code, duration=timedelta(seconds=1)
    )


def case(outcome=CaseOutcome.PASSED, phases=(1, 1, 1)):
    return CaseFact(node_id="a::b", outcome=outcome, phases=phases)


@pytest.mark.parametrize("exit_code", [0, 1, 5])
def test_stream_counts_whatever_the_exit_code(exit_code):
    assert distrust_of(facts(STREAM, ReportSource.STREAM), command(exit_code)) is None


@pytest.mark.parametrize("source", [one for one in ReportSource if one is not ReportSource.STREAM])
def test_reporter_without_its_stream_is_no_evidence(source):
    reason = distrust_of(facts(STREAM, source), command(0))
    assert reason == f"the streaming reporter's record is gone, and {source} is no evidence"


@pytest.mark.parametrize(
    ("exit_code", "failed", "is_evidence"),
    [(0, 0, True), (1, 2, True), (1, 0, False), (0, 2, False)],
)
def test_external_report_has_to_agree_with_the_exit_code(exit_code, failed, is_evidence):
    report = facts(EXTERNAL, ReportSource.JUNIT, failed=failed)
    assert (distrust_of(report, command(exit_code)) is None) == is_evidence


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        (ReportSource.EXIT_CODE, command(0)),
        (ReportSource.TEXT, command(0)),
        (ReportSource.JUNIT, command(None, Ending.TIMED_OUT)),
        (ReportSource.JUNIT, command(None, Ending.KILLED)),
        (ReportSource.JUNIT, None),
    ],
)
def test_external_report_needs_a_file_and_a_run_that_ended_by_itself(source, ended):
    assert distrust_of(facts(EXTERNAL, source), ended) is not None


@pytest.mark.parametrize(
    ("trust", "cases", "lack"),
    [
        (STREAM, [case()], None),
        (STREAM, [case(phases=(1, 2, 1))], Lack.BROKEN_PHASES),
        (STREAM, [case(), case()], Lack.BROKEN_PHASES),
        (EXTERNAL, [case(phases=(0, 0, 0))], None),
        (EXTERNAL, [case(), case()], Lack.AGAIN),
        (STREAM, [], Lack.MISSING),
        (EXTERNAL, [], Lack.MISSING),
        (STREAM, [case(CaseOutcome.SKIPPED)], Lack.NOT_PASSED),
        (EXTERNAL, [case(), case(CaseOutcome.FAILED)], Lack.NOT_PASSED),
    ],
)
def test_test_to_fix_counts_if_it_passed_exactly_once(trust, cases, lack):
    assert lack_of_fixed(cases, trust) is lack


@pytest.mark.parametrize(
    ("trust", "cases", "lack"),
    [
        (STREAM, [case(CaseOutcome.SKIPPED)], None),
        (STREAM, [case(phases=(1, 0, 1))], Lack.NOT_PASSED),
        (EXTERNAL, [case(phases=(0, 0, 0))], None),
        (EXTERNAL, [case(CaseOutcome.ERROR)], Lack.NOT_PASSED),
        (EXTERNAL, [], Lack.MISSING),
    ],
)
def test_test_to_keep_counts_unless_it_failed_or_was_never_called(trust, cases, lack):
    assert lack_of_regression_test(cases, trust) is lack
