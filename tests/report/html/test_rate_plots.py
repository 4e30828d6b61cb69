from agentbench.report.html.rate_plots import rate_plot
from agentbench.report.leaderboard import Entrant, leaderboard
from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import failed, lost, resolved


def board(*runs):
    entrants = [
        Entrant(name=f"run-{n}", attempts=[AttemptSummary.of(each) for each in own])
        for n, own in enumerate(runs)
    ]
    return leaderboard(entrants, with_groups=False)


def of_tasks(*made):
    return [each(task_id=f"t{number}") for number, each in enumerate(made)]


def test_both_rates_are_in_the_picture_and_in_the_table():
    picture = rate_plot(board(of_tasks(resolved, failed, lost, failed)), ["mine"])
    assert picture.rows == [
        ("mine", "1/4 (25.0 %)", "4.6\u201369.9 %", "1/3 (33.3 %)", "6.1\u201379.2 %")
    ]
    for text in ("1/4 = 25.0 %", "1/3 = 33.3 %", ">mine<"):
        assert text in picture.svg


def test_a_run_of_no_attempts_has_no_point():
    picture = rate_plot(board([]), ["none"])
    assert picture.rows[0][1] == "0/0"
    assert " = " not in picture.svg


def test_more_runs_than_a_picture_holds_are_in_the_table():
    labels = [f"label-{n}" for n in range(41)]
    picture = rate_plot(board(*[of_tasks(resolved)] * 41), labels)
    assert "first 40 of 41 runs" in picture.note
    assert [row[0] for row in picture.rows] == labels
    assert ">label-40<" not in picture.svg
