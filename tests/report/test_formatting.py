import pytest

from agentbench.attempt.record import TimingRecord, UsageRecord
from agentbench.integrity.records import ControlKind
from agentbench.report import formatting
from agentbench.report.json_documents import SummaryDocument
from agentbench.report.summary import ResultSummary
from agentbench.scoring.statistics import Interval
from tests.report.several import attempts
from tests.runs.records import controls_of, failed, resolved


def lines(*tasks, **more):
    return {
        line.name: line
        for line in formatting.summary_lines(ResultSummary.of(attempts("a", *tasks, **more)))
    }


def test_both_denominators_are_always_there():
    told = lines("r", "f")["resolved"]
    assert told.overall == told.judged == "1/2 (50.0 %, 95 % CI 9.5\u201390.5)"
    told = lines("r", "f", "l")["resolved"]
    assert (told.overall[:3], told.judged[:3]) == ("1/3", "1/2")


def test_pass_at_k_and_pass_to_the_k_are_told_where_tasks_have_several_attempts():
    told = lines("rf", "rr", "fl")
    assert (told["pass@1"].overall, told["pass@1"].judged) == ("50.0 %", "50.0 %")
    assert (told["pass@2"].overall, told["pass^2"].overall) == ("66.7 %", "33.3 %")
    assert told["pass@2"].judged == ""  # one task was judged once alone
    assert "pass^1" not in told
    assert "pass@1" not in lines("r", "f")


def test_what_a_resolved_attempt_took_counts_the_others_too():
    usage = UsageRecord(input_tokens=1000, output_tokens=200, cost_usd=0.25)
    more = {"usage": usage, "timing": TimingRecord(total_s=30)}
    told = lines("r", "f", **more)
    assert told["cost per resolved"].overall == "$0.5000"
    assert told["tokens per resolved"].overall == "2,400"
    assert told["seconds per resolved"].overall == "60"


def test_the_tests_to_fix_are_added_up_by_how_they_are_controlled():
    made = [
        resolved(controls=controls_of(ControlKind.SEALED, ControlKind.SEALED)),
        failed(),  # it did not pass the final test
        resolved(controls=controls_of(ControlKind.SEALED, ControlKind.WEAK)),
    ]
    summary = ResultSummary.of(made)
    told = {line.name: line.overall for line in formatting.summary_lines(summary)}
    assert told["tests to fix"] == "3 sealed (75.0 %), 1 weak (25.0 %)"
    document = SummaryDocument.model_validate(summary)
    assert document.controls == {"sealed": 3, "blind": 0, "weak": 1}
    assert "tests to fix" not in lines("rf")


def test_an_unknown_cost_is_never_nothing():
    known, unknown = (UsageRecord(cost_usd=cost) for cost in (1.0, None))
    summary = ResultSummary.of([resolved(usage=known), failed(usage=unknown)])
    assert (summary.cost_usd, summary.per_resolved.cost_usd) == (None, None)
    assert formatting.cost_per_resolved(summary) == "cost unknown"


def test_where_nothing_was_resolved_there_is_no_price_of_it():
    told = lines("f", usage=UsageRecord(cost_usd=1.0, input_tokens=5))
    for what in ("cost", "tokens", "seconds"):
        assert told[f"{what} per resolved"].overall == formatting.NO_VALUE


def test_of_agents_whose_calls_nobody_counted_the_cost_is_not_nothing():
    told = lines("r")
    assert told["cost per resolved"].overall == told["tokens per resolved"].overall
    assert told["cost per resolved"].overall == formatting.NO_VALUE
    assert told["seconds per resolved"].overall == "1"


def test_failures_are_counted_by_reason_and_by_fault():
    told = lines("f", "l", "f")
    assert told["reasons"].overall == "1 SANDBOX_ERROR, 2 TESTS_FAILED"
    assert told["faults"].overall == "1 infrastructure, 2 agent"
    assert "reasons" not in lines("r")


@pytest.mark.parametrize(
    ("value", "shown"), [(0.2, "+20.0"), (-0.051, "\u22125.1"), (0.0, "0.0"), (-0.0001, "0.0")]
)
def test_points_bear_their_sign(value, shown):
    assert formatting.points(value) == shown


def test_intervals_p_values_and_amounts_read_well():
    assert formatting.point_interval(Interval(-0.1, 0.3)) == "95 % CI \u221210.0 to +30.0"
    assert [formatting.p_value(p) for p in (0.03125, 1.0, 1e-9)] == [
        "p = 0.031",
        "p = 1",
        "p < 0.0001",
    ]
    told = [formatting.amount(number) for number in (None, 2.0, 2.25, 12345.6)]
    assert told == [formatting.NO_VALUE, "2", "2.2", "12,346"]


def test_rounding_makes_no_number_contradict_its_verdict():
    assert [formatting.p_value(p) for p in (0.0496, 0.05, 0.0504)] == [
        "p = 0.0496",
        "p = 0.05",
        "p = 0.0504",
    ]
    assert formatting.p_value(0.0961, alpha=0.1) == "p = 0.096"
    shown = formatting.point_interval(Interval(0.0003, 0.1), confidence=0.9)
    assert shown == "90 % CI +0.03 to +10.0"
    assert formatting.point_interval(Interval(-0.1, -0.0003)) == "95 % CI \u221210.0 to \u22120.03"
