import pytest

from agentbench.attempt.record import TimingRecord, UsageRecord
from tests.report.rendered import rows_of
from tests.runs.records import RUN, failed, lost, resolved


def test_rows_are_ordered_by_task_then_attempt_then_run():
    attempts = [
        resolved(task_id="b", attempt=1),
        resolved(task_id="a", attempt=10),
        resolved(task_id="a", attempt=2, run_id="y"),
        resolved(task_id="a", attempt=2, run_id="x"),
    ]
    assert [(row["task"], row["attempt"], row["run"]) for row in rows_of(attempts)] == [
        ("a", "2", "x"),
        ("a", "2", "y"),
        ("a", "10", RUN),
        ("b", "1", RUN),
    ]


def test_a_resolved_attempt_has_no_reason():
    (row,) = rows_of([resolved(timing=TimingRecord(total_s=1.26))])
    assert (row["verdict"], row["reason"], row["fault"]) == ("resolved", "", "")
    assert (row["seconds"], row["tests"]) == ("1.3", "1 fixed")


def test_a_failed_attempt_has_reason_fault_and_detail():
    (row,) = rows_of([lost()])
    assert (row["verdict"], row["reason"], row["fault"]) == (
        "failed",
        "SANDBOX_ERROR",
        "infrastructure",
    )
    assert "the engine went away" in row["detail"]


@pytest.mark.parametrize(
    ("usage", "cost"),
    [(None, ""), (UsageRecord(cost_usd=None), "?"), (UsageRecord(cost_usd=0.12345), "0.1235")],
)
def test_an_unknown_cost_is_not_a_cost_of_nothing(usage, cost):
    assert rows_of([resolved(usage=usage)])[0]["cost"] == cost


def test_regressions_and_tests_that_did_not_run_are_told_where_there_are_any():
    record = failed()
    counts = record.counts.replace(fixed=2, regressed=1, unrun=3)
    (row,) = rows_of([record.replace(counts=counts)])
    assert row["tests"] == "2 fixed, 1 failing, 1 regressed, 3 not run"


def test_what_an_agent_wrote_is_made_harmless():
    (row,) = rows_of([failed(agent="\x1b[31ma", detail="b\n\u202ec")])
    assert (row["agent"], row["detail"]) == ("a", "b\\u000a\\u202ec")
