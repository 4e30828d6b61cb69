import io
import re

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from agentbench.report.leaderboard import Entrant, leaderboard
from agentbench.report.text_reports import (
    leaderboard_markdown,
    leaderboard_notes,
    print_leaderboard,
)
from tests.report.hostile import HOSTILE
from tests.report.several import attempts

pytestmark = pytest.mark.full


def board(*runs, **more):
    entrants = [
        Entrant(name=f"run-{number}", attempts=attempts(f"run-{number}", *tasks, agent=agent))
        for number, (agent, *tasks) in enumerate(runs)
    ]
    return leaderboard(entrants, **more)


def printed(made):
    buffer = io.StringIO()
    print_leaderboard(made, Console(file=buffer, width=160, color_system=None))
    return buffer.getvalue()


def test_the_best_run_is_first_with_both_rates_and_its_letter():
    text = printed(board(("bad", *"ffffffff"), ("good", *"rrrrrrrl")))
    first, second = (line for line in text.splitlines() if re.match(r" ?\d ", line))
    assert first.split()[:3] == ["1", "good", "a"]
    assert "7/8" in first
    assert "7/7" in first
    assert second.split()[:3] == ["2", "bad", "b"]
    assert "No significant difference between runs that share a letter" in text


def test_columns_that_tell_nothing_stay_away():
    without = printed(board(("a", "r"), ("b", "r"), with_groups=False))
    assert "group" not in without
    assert "common tasks" not in without
    assert "common tasks" in printed(board(("a", "r"), ("b", "r", "f")))


def test_runs_at_other_tasks_are_said_to_be():
    told = list(leaderboard_notes(board(("a", "r"), ("b", "r", "f"))))
    assert told[-1] == "common to all runs: 1 of 2 tasks; ordered by those"
    empty = leaderboard([Entrant(name="x", attempts=()), Entrant(name="y", attempts=())])
    assert list(leaderboard_notes(empty))[-1].startswith("each:")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:30])
def test_a_hostile_name_of_an_agent_stays_in_its_cell(text):
    made = board((text, "r"), ("b", "f"))
    html = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render("".join(leaderboard_markdown(made)))
    )
    assert len(re.findall("<td>", html)) == 2 * len(re.findall("<th>", html))
    assert set(re.findall(r"<(\w+)", html)) <= {
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "code",
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", printed(made))
