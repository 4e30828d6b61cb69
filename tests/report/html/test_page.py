from agentbench.report.html.page import attempt_lines
from agentbench.report.reported_run import TimedRun
from agentbench.runs.store.summaries import AttemptSummary
from tests.report.test_shown_run import NOON, run_of
from tests.runs.records import failed


def test_each_attempt_has_a_line_with_its_start():
    (line,) = attempt_lines([run_of((0, 1))], most=5)
    assert (line.began, line.row.verdict) == ("2026-01-02 12:00:00", "resolved")


def test_long_texts_are_cut_visibly():
    attempt = AttemptSummary.of(failed(detail="x" * 1000, agent="y" * 1000))
    (line,) = attempt_lines([TimedRun(name="r", attempts=[attempt], starts=[NOON])], most=1)
    assert (len(line.row.detail), line.row.detail[-1]) == (400, "…")
    assert (len(line.row.agent), line.row.agent[-1]) == (80, "…")


def test_no_more_lines_are_made_than_wanted():
    runs = [run_of((0, 1), (1, 1)), run_of((0, 1), (1, 1))]
    assert len(list(attempt_lines(runs, most=3))) == 3
    assert len(list(attempt_lines(runs, most=9))) == 4
