from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.attempt.record import TimingRecord, UsageRecord
from agentbench.cli.show import explanation
from agentbench.errors import UsageError
from agentbench.integrity.finding_rules import ChangeRule, ControlRule
from agentbench.report.summary import (
    Rate,
    ResultSummary,
    TaskOutcome,
    judged_pairs,
    judged_scores,
    outcomes_by_task,
    overall_pairs,
    overall_scores,
    summary_line,
)
from agentbench.report.taxonomy_page import WORDS
from agentbench.scoring.paired_comparison import TaskPair
from agentbench.scoring.statistics import TaskScore
from agentbench.test_runs.runners import REPORTS
from tests.report.several import attempts
from tests.runs.records import failed, interrupted, lost, records, resolved


def test_attempts_are_counted_by_task_and_lost_ones_are_not_judged():
    by_task = outcomes_by_task(attempts("a", "rfl", "ll", "r"))
    assert by_task == {
        "task-0": TaskOutcome(1, 3, 2),
        "task-1": TaskOutcome(0, 2, 0),
        "task-2": TaskOutcome(1, 1, 1),
    }
    outcomes = Counter(by_task.values())
    assert overall_scores(outcomes) == {TaskScore(1, 3): 1, TaskScore(0, 2): 1, TaskScore(1, 1): 1}
    assert judged_scores(outcomes) == {TaskScore(1, 2): 1, TaskScore(1, 1): 1}


def test_outcomes_that_are_alike_are_kept_once():
    counted = outcomes_by_task(attempts("a", "rf", "rf"))
    assert counted["task-0"] is counted["task-1"]


def test_pairs_of_judged_attempts_leave_out_tasks_that_one_run_lost():
    both = {
        (TaskOutcome(1, 2, 1), TaskOutcome(0, 2, 2)): 3,
        (TaskOutcome(1, 2, 2), TaskOutcome(0, 1, 0)): 4,
    }
    assert judged_pairs(both) == {TaskPair(TaskScore(1, 1), TaskScore(0, 2)): 3}
    assert overall_pairs(both) == {
        TaskPair(TaskScore(1, 2), TaskScore(0, 2)): 3,
        TaskPair(TaskScore(1, 2), TaskScore(0, 1)): 4,
    }


def test_the_last_line_of_a_run_reads_as_it_is_specified():
    attempts = [*(resolved(task_id=f"task-{n}") for n in range(9)), failed()]
    line = summary_line(ResultSummary.of(attempts), seconds=41.2, folder="runs/2026")
    assert line == (
        "resolved 9/10 (90.0 %, 95 % CI 59.6\u201398.2) · 1 TESTS_FAILED · 41 s · $0.00 · runs/2026"
    )


def test_attempts_lost_to_the_infrastructure_leave_the_second_rate_and_not_the_first():
    made = (resolved, failed, lost, interrupted)
    summary = ResultSummary.of(one(task_id=f"task-{n}") for n, one in enumerate(made))
    assert (summary.overall, summary.judged) == (
        Rate(resolved=1, total=4),
        Rate(resolved=1, total=2),
    )
    assert summary.infrastructure == 2
    line = summary_line(summary, seconds=0, folder="x")
    assert "resolved 1/4 (25.0 %" in line
    assert "1/2 (50.0 %, 95 % CI 9.5\u201390.5) with 2 attempts excluded (task or inf" in line
    assert "1 TESTS_FAILED · 1 INTERRUPTED · " in line or "1 INTERRUPTED · 1 TESTS_FAILED" in line


def test_reasons_come_in_the_order_of_their_precedence():
    summary = ResultSummary.of([failed(), interrupted(), lost(), failed()])
    precedences = [reason.precedence for reason, _ in summary.reasons]
    assert precedences == sorted(precedences)
    assert {reason.value: count for reason, count in summary.reasons} == {
        "TESTS_FAILED": 2,
        "INTERRUPTED": 1,
        "SANDBOX_ERROR": 1,
    }


def test_no_attempts_are_no_division_by_zero():
    summary = ResultSummary.of([])
    assert (str(summary.overall), summary.overall.share) == ("0/0", 0.0)
    assert summary_line(summary, seconds=0, folder="x") == "resolved 0/0 · 0 s · $0.00 · x"


@pytest.mark.parametrize(
    ("costs", "total", "shown"),
    [([0.25, 0.5], 0.75, "$0.75"), ([0.25, None], None, "cost unknown"), ([], 0, "$0.00")],
)
def test_an_unknown_price_makes_the_whole_cost_unknown(costs, total, shown):
    attempts = [resolved(), *(resolved(usage=UsageRecord(cost_usd=cost)) for cost in costs)]
    summary = ResultSummary.of(attempts)
    assert summary.cost_usd == total
    assert f" · {shown} · " in summary_line(summary, seconds=1, folder="x")


def test_quarantined_attempts_are_counted_and_shown():
    summary = ResultSummary.of([failed(quarantined=True), failed()])
    assert summary.quarantined == 1
    assert "1 quarantined" in summary_line(summary, seconds=1, folder="x")
    assert "quarantined" not in summary_line(ResultSummary.of([failed()]), seconds=1, folder="x")


def test_seconds_are_added_up():
    attempts = [resolved(timing=TimingRecord(total_s=seconds)) for seconds in (1.5, 2.0)]
    assert ResultSummary.of(attempts).attempt_seconds == 3.5


@given(st.lists(records(), max_size=6))
def test_no_attempt_is_ever_left_out(attempts):
    summary = ResultSummary.of(attempts)
    assert summary.overall.total == len(attempts)
    assert summary.overall.resolved + sum(n for _, n in summary.reasons) == len(attempts)
    assert summary.overall.resolved == summary.judged.resolved <= summary.judged.total
    assert summary.judged.total <= summary.overall.total


def test_words_of_reports_are_explained():
    runners = {runner.value for runner in REPORTS}
    assert {"quarantined", "tampered", *ControlRule, *ChangeRule, *runners} <= set(WORDS)
    for word in ("quarantined", "QUARANTINED", "tampered-with-tests", "tampered with tests"):
        assert explanation(word, None).startswith(f"{word.lower().split('-')[0].split()[0]}: ")
    assert explanation("blind-control-passed", None).startswith("blind-control-passed: A critical")
    # A tag of behaviour has the same name.
    assert explanation("quarantined", None).startswith("quarantined: An attempt with a critical")
    with pytest.raises(UsageError, match="nor a word of reports; did you mean quarantined"):
        explanation("quarantine", None)
