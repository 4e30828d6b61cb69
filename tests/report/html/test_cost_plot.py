from agentbench.attempt.record import UsageRecord
from agentbench.report.html.rate_plots import cost_plot
from agentbench.report.leaderboard import Entrant, leaderboard
from agentbench.runs.store.summaries import AttemptSummary
from tests.runs.records import failed, resolved


def plot(*costs):
    """A run for each cost of its two attempts: a number, None where unknown, "no" for no model."""
    entrants, metered = [], []
    for number, cost in enumerate(costs):
        usage = None if cost == "no" else UsageRecord(cost_usd=cost)
        made = [resolved(task_id="a", usage=usage), failed(task_id="b", usage=usage)]
        entrants.append(
            Entrant(name=f"run-{number}", attempts=[AttemptSummary.of(m) for m in made])
        )
        metered.append(usage is not None)
    labels = [f"label-{number}" for number in range(len(costs))]
    return cost_plot(leaderboard(entrants, with_groups=False), labels, metered)


def test_costs_are_per_attempt_and_per_resolved_one():
    picture = plot(0.25)
    assert picture.rows == [("1", "label-0", "$0.2500", "50.0 %", "$0.5000")]
    assert picture.note == "Numbers are those of the leaderboard."
    assert picture.svg


def test_runs_of_unknown_cost_are_named_as_left_out():
    picture = plot(0.25, None, "no")
    assert "2 runs are not in the picture" in picture.note
    assert [row[2] for row in picture.rows] == ["$0.2500", "\u2013", "no model"]


def test_no_picture_is_drawn_of_nothing():
    picture = plot(None, "no")
    assert picture.svg == ""
    assert "No cost data" in picture.note


def test_costs_far_apart_have_a_logarithmic_axis():
    assert "logarithmic" in plot(0.01, 5.0).svg
    assert "logarithmic" not in plot(0.01, 0.05).svg
    assert "logarithmic" not in plot(0.0, 5.0).svg
