from hypothesis import given

from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from agentbench.taxonomy import FailureReason
from agentbench.view.attempt_page import (
    ReasonStatus,
    explain_decision,
    reason_candidates,
    reasons_without_evidence,
)
from tests.runs.records import failed, record_of, records, resolved
from tests.scoring import strategies


def test_a_late_agent_whose_tests_fail_is_told_with_both_reasons():
    final = strategies.ran(strategies.case(strategies.A, "failed"), strategies.case(strategies.B))
    late = Evidence(agent=AgentEnding.TIME_LIMIT)
    record = record_of(strategies.attempt(final, agent_run=late))
    first, second = reason_candidates(record)
    assert (first.failure.reason, first.status) == (FailureReason.TIMEOUT, ReasonStatus.DECIDED)
    assert (second.failure.reason, second.status) == (
        FailureReason.TESTS_FAILED,
        ReasonStatus.OUTRANKED,
    )
    assert second.why == "TIMEOUT has a higher priority"
    assert strategies.A in second.failure.detail or "test" in second.failure.detail
    assert "TIMEOUT has the lowest precedence number (9)" in explain_decision(record)
    assert "TESTS_FAILED (11)" in explain_decision(record)


def test_a_reason_alone_is_told_as_such():
    record = failed()
    assert explain_decision(record).startswith("TESTS_FAILED is the only reason")
    assert [each.status for each in reason_candidates(record)] == [ReasonStatus.DECIDED]


def test_a_resolved_attempt_has_nothing_to_weigh():
    record = resolved()
    assert reason_candidates(record) == []
    assert "passed" in explain_decision(record)
    assert len(reasons_without_evidence(record)) == len(FailureReason)


def test_a_quarantined_attempt_is_told_why():
    cheat = Finding(rule="peeked", severity=Severity.CRITICAL, where="agent", what="read the key")
    passed = strategies.ran(strategies.case(strategies.A), strategies.case(strategies.B))
    agent = Evidence(agent=AgentEnding.SUBMITTED, findings=(cheat,))
    record = record_of(strategies.attempt(passed, agent_run=agent))
    assert record.quarantined
    assert explain_decision(record) == (
        "Quarantined: peeked at agent: read the key. The final test passed, but does not count."
    )


@given(records())
def test_exactly_one_reason_decides_wherever_there_is_one(record):
    told = reason_candidates(record)
    decided = [each for each in told if each.status is ReasonStatus.DECIDED]
    assert [each.failure.reason for each in decided] == (
        [record.failure_reason] if record.failure_reason else []
    )
    assert len(told) == len(record.failures)
    reasons = {each.failure.reason for each in told}
    assert reasons | set(reasons_without_evidence(record)) == set(FailureReason)
    assert explain_decision(record)
