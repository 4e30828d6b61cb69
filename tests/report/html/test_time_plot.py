import re

from agentbench.report.html.attempt_plots import _counts, _lanes, time_plot
from tests.report.test_shown_run import run_of


def test_facts_of_the_run_are_told():
    picture = time_plot("times-1", "mine", run_of((0, 60), (30, 60), (60, 60)))
    assert picture.rows == [("2026-01-02 12:00:00", "120 s", "3", "2", "1.5")]
    assert "seconds since" in picture.svg
    assert "at most 2 at once" in picture.svg
    assert picture.note == ""


def test_each_attempt_has_a_bar_in_a_lane_of_its_own():
    assert list(_lanes([(0, 2), (1, 3), (2, 4), (3, 3), (3, 5)])) == [0, 1, 0, 1, 1]
    picture = time_plot("times-1", "mine", run_of((0, 2), (1, 2), (2, 2)))
    (bars,) = re.findall(r'<path d="([^"]*)"[^>]*class="[^"]*fill-resolved', picture.svg)
    assert bars.count("M") == 3


def test_long_runs_have_longer_units():
    assert "minutes since" in time_plot("a", "a", run_of((0, 600))).svg
    assert "hours since" in time_plot("a", "a", run_of((0, 9000))).svg


def test_too_many_attempts_are_counted_instead():
    picture = time_plot("a", "a", run_of(*[(second, 5) for second in range(700)]))
    assert "the number of the 700 attempts that were running" in picture.note
    assert "attempts at once" in picture.svg
    wide = time_plot("a", "a", run_of(*[(0, 5)] * 50))
    assert "the number of the 50 attempts" in wide.note


def test_counts_are_means_over_each_step():
    assert _counts([(0, 10), (5, 10)], [0, 5, 10]) == [1, 2, 0]
    assert _counts([(2.5, 5)], [0, 5, 10]) == [0.5, 0, 0]
    assert _counts([], [0, 5]) == [0, 0]


def test_no_attempts_make_no_picture():
    picture = time_plot("a", "a", run_of())
    assert (picture.svg, picture.rows) == ("", [])


def test_attempts_that_took_no_time_are_drawn():
    assert time_plot("a", "a", run_of((0, 0))).svg
    assert time_plot("a", "a", run_of(*[(0, 0)] * 700)).svg
