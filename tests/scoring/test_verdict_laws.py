"""What holds of every verdict, whatever the evidence."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentbench.scoring import FailureReason, Fault, StageName, StageResult, Verdict, judge
from agentbench.scoring.evidence import CaseOutcome, Evidence
from agentbench.scoring.verdict import baseline_warnings
from tests.scoring.strategies import (
    A,
    B,
    attempt,
    attempts,
    case,
    evidences,
    expectations,
    expecting,
    passing_runs,
    ran,
    stage,
)

NOT_PASSED = [outcome for outcome in CaseOutcome if outcome is not CaseOutcome.PASSED]


@given(expectations, attempts())
@settings(max_examples=150)
def test_a_verdict_is_consistent_in_itself(expected, stages):
    verdict = judge(expected, stages)
    assert verdict.resolved == (verdict.failure_reason is None) == (verdict.fault is None)
    assert not (verdict.resolved and verdict.quarantined)
    assert verdict.resolved == (not verdict.failures)
    assert len({test.node_id for test in verdict.tests}) == len(verdict.tests)


@given(expectations, attempts())
@settings(max_examples=150)
def test_the_primary_reason_is_that_of_lowest_precedence(expected, stages):
    verdict = judge(expected, stages)
    reasons = [failure.reason for failure in verdict.failures if failure.terminal]
    assert verdict.failure_reason is FailureReason.resolve(reasons)


@given(expectations, attempts())
def test_resolved_takes_a_final_test(expected, stages):
    assert not judge(expected, [r for r in stages if r.stage is not StageName.FINAL_TEST]).resolved


@given(passing_runs(), st.sampled_from([A, B]), st.sampled_from(NOT_PASSED), evidences)
def test_turning_a_passed_listed_test_into_anything_else_never_resolves(run, spoilt, new, agent):
    expected = expecting([A, B], [])
    before = ran(case(A, "failed"), case(B, "failed"))
    assert judge(expected, attempt(ran(*run), before)).resolved
    changed = (case(c.node_id, new) if c.node_id == spoilt else c for c in run)
    assert not judge(expected, attempt(ran(*changed), before, agent_run=agent)).resolved
    missing = (c for c in run if c.node_id != spoilt)
    assert not judge(expected, attempt(ran(*missing), before, agent_run=agent)).resolved


@given(expectations, attempts(), st.sampled_from([A, B]), st.sampled_from(NOT_PASSED))
@settings(max_examples=150)
def test_no_unresolved_attempt_is_resolved_by_a_test_that_stops_passing(
    expected, stages, spoilt, new
):
    """The law over any evidence; a test is spoilt wherever the final report shows it."""
    spoilt_stages = [
        _with_outcome(result, spoilt, new) if result.stage is StageName.FINAL_TEST else result
        for result in stages
    ]
    listed = spoilt in expected.fail_to_pass
    if listed or not judge(expected, stages).resolved:
        assert not judge(expected, spoilt_stages).resolved


def _with_outcome(result: StageResult, node_id: str, outcome: CaseOutcome) -> StageResult:
    report = result.evidence.report
    if report is None:
        return result
    cases = tuple(c.replace(outcome=outcome) if c.node_id == node_id else c for c in report.cases)
    changed = report.replace(cases=cases)
    evidence = result.evidence.replace(report=changed)
    return result.replace(evidence=evidence)


UNTESTED = [s for s in StageName if s not in {StageName.BASELINE_RUN, StageName.FINAL_TEST}]


@given(expectations, attempts(), st.sampled_from(UNTESTED), evidences)
@settings(max_examples=150)
def test_one_more_failure_never_raises_the_primary_number(expected, stages, name, evidence):
    """A baseline or a final test would change what is expected and seen, not only what failed."""
    is_crash = evidence.exception is not None or evidence.agent in {"crashed", "interrupted"}
    assume(name is not StageName.AGENT_RUN or not is_crash)  # it takes the final test's word away
    before = judge(expected, stages)
    assume(not before.resolved and not before.quarantined)
    after = judge(expected, [*stages, stage(name, evidence)])
    assert after.failure_reason is not None
    assert after.failure_reason.precedence <= before.failure_reason.precedence


@given(expectations, attempts())
def test_an_attempt_judged_again_from_its_json_gives_the_same_verdict(expected, stages):
    verdict = judge(expected, stages)
    read = [StageResult.model_validate_json(result.model_dump_json()) for result in stages]
    again = judge(type(expected).model_validate_json(expected.model_dump_json()), read)
    assert again == verdict
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@given(expectations, evidences)
def test_warnings_of_a_baseline_are_a_tuple_of_distinct_sentences(expected, evidence):
    warnings = baseline_warnings(expected, evidence)
    assert len(set(warnings)) == len(warnings)


@given(evidences.filter(lambda e: e.exception is None))
def test_nothing_in_a_final_test_but_a_lost_sandbox_is_the_infrastructures(final):
    verdict = judge(expecting(), attempt(final.replace(agent=None)))
    lost = final.command is not None and final.command.ending == "lost"
    assert lost or verdict.fault is not Fault.INFRASTRUCTURE


@given(evidences)
def test_an_attempt_whose_final_test_is_empty_is_never_resolved(agent):
    assert not judge(expecting(), attempt(Evidence(), agent_run=agent)).resolved
