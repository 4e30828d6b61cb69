import pytest

from agentbench.attempt.record import TimingRecord, UsageRecord
from agentbench.integrity.records import ControlKind, Controls
from agentbench.report.attempt_text import HEADER, render_attempt, verdict_word
from agentbench.tasks.control_level import ControlLevel
from tests.report.rendered import rows_of
from tests.runs.records import controls_of, failed, in_steps, lost, resolved


def test_the_header_names_each_column():
    assert HEADER._fields == HEADER


def test_rows_are_ordered_by_task_and_then_by_attempt():
    attempts = [
        resolved(task_id="b", attempt=1),
        resolved(task_id="a", attempt=10),
        resolved(task_id="a", attempt=2),
    ]
    assert [(row.task, row.attempt) for row in rows_of(attempts)] == [
        ("a", "2"),
        ("a", "10"),
        ("b", "1"),
    ]


def test_a_resolved_attempt_has_no_reason():
    (row,) = rows_of([resolved(timing=TimingRecord(total_s=1.26))])
    assert (row.verdict, row.reason, row.fault, row.seconds) == ("resolved", "", "", "1.3")
    assert row.tests == "1 fixed"


def test_a_failed_attempt_has_reason_fault_and_detail():
    (row,) = rows_of([lost()])
    assert (row.verdict, row.reason, row.fault) == ("failed", "SANDBOX_ERROR", "infrastructure")
    assert "the engine went away" in row.detail


@pytest.mark.parametrize(
    ("usage", "cost"),
    [(None, ""), (UsageRecord(cost_usd=None), "?"), (UsageRecord(cost_usd=0.12345), "0.1235")],
)
def test_an_unknown_cost_is_not_a_cost_of_nothing(usage, cost):
    assert rows_of([resolved(usage=usage)])[0].cost == cost


def test_regressions_and_tests_that_did_not_run_are_told_where_there_are_any():
    record = failed()
    counts = record.counts.model_copy(update={"fixed": 2, "regressed": 1, "unrun": 3})
    (row,) = rows_of([record.model_copy(update={"counts": counts})])
    assert row.tests == "2 fixed, 1 failing, 1 regressed, 3 not run"


def test_what_an_agent_wrote_is_made_harmless():
    (row,) = rows_of([failed(agent="\x1b[31ma", detail="b\n\u202ec")])
    assert (row.agent, row.detail) == ("a", "b\\u000a\\u202ec")


def test_steps_of_a_task_are_told_in_their_order(tmp_path):
    lines = render_attempt(in_steps(), tmp_path).splitlines()
    start = lines.index("steps")
    assert lines[start + 1 : start + 4] == [
        "  split: reward 1, style 0.5; agent 0.0 s, verifier 0.0 s",
        "  sum: reward 0.25; too low for the next step: reward 0.25 is below 1; "
        "agent: time_limit (an odd <day>); agent 61.5 s, verifier 0.0 s",
        "  print: not run",
    ]


def test_the_shares_of_the_tests_to_fix_are_shown_by_kind(tmp_path):
    controls = controls_of(*[ControlKind.SEALED] * 3, ControlKind.BLIND)
    lines = render_attempt(resolved(controls=controls), tmp_path).splitlines()
    assert "  tests to fix: 3 sealed (75.0 %), 1 blind (25.0 %)" in lines


def test_skipped_control_runs_are_named_with_the_reason(tmp_path):
    controls = Controls(level=ControlLevel.FULL, skipped="the final test did not pass")
    lines = render_attempt(failed(controls=controls), tmp_path).splitlines()
    assert "control runs (full) skipped: the final test did not pass" in lines


def test_a_quarantined_attempt_is_called_so():
    assert verdict_word(failed(quarantined=True)) == "quarantined"
    assert verdict_word(failed()) == "failed"
    assert verdict_word(resolved()) == "resolved"


def test_the_same_attempt_of_two_runs_stands_together_each_with_its_run():
    pair = [resolved(run_id="b"), resolved(run_id="a", task_id="z"), resolved(run_id="a")]
    assert [(row.task, row.run) for row in rows_of(pair)] == [
        ("one", "a"),
        ("one", "b"),
        ("z", "a"),
    ]
