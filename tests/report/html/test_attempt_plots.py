from agentbench.report.html.attempt_plots import outcome_colour, reason_plot
from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import failed, interrupted, lost, resolved


def test_every_attempt_is_counted_once_by_reason_and_fault():
    made = [resolved(), failed(), failed(), lost(), interrupted()]
    picture = reason_plot(["one"], [[AttemptSummary.of(each) for each in made]])
    assert [row[1:] for row in picture.rows] == [
        ("resolved", "", "1", "20.0 %"),
        ("TESTS_FAILED", "agent", "2", "40.0 %"),
        ("INTERRUPTED", "infrastructure", "1", "20.0 %"),
        ("SANDBOX_ERROR", "infrastructure", "1", "20.0 %"),
    ]
    assert "agent: TESTS_FAILED; of the infrastructure: INTERRUPTED, SANDBOX_ERROR." in picture.note
    for text in ("TESTS_FAILED 2", "resolved 1", ">one<"):
        assert text in picture.svg


def test_a_fault_that_the_evidence_overrode_is_the_one_shown():
    attempt = AttemptSummary.of(lost(fault="agent"))
    assert outcome_colour(attempt).value == "agent"


def test_more_runs_than_a_picture_holds_are_in_the_table():
    labels = [f"run-{number}" for number in range(43)]
    picture = reason_plot(labels, [[AttemptSummary.of(resolved())]] * 43)
    assert "first 40 of 43 runs; the table has all" in picture.note
    assert len(picture.rows) == 43
    assert ">run-39<" in picture.svg
    assert ">run-40<" not in picture.svg


def test_a_run_of_no_attempts_has_an_empty_bar():
    picture = reason_plot(["none"], [[]])
    assert picture.rows == []
    assert ">none<" in picture.svg
