import io
import re

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from agentbench.report.comparison import compare
from agentbench.report.text_reports import (
    RunNames,
    comparison_markdown,
    print_comparison,
    sentences,
)
from tests.report.hostile import HOSTILE
from tests.report.several import attempts

NAMES = RunNames("first agent", "second agent")


def printed(comparison, names=NAMES, **more):
    buffer = io.StringIO()
    print_comparison(comparison, names, Console(file=buffer, width=140, color_system=None), **more)
    return buffer.getvalue()


def test_both_denominators_the_difference_and_the_flips_are_told():
    text = printed(compare(attempts("a", "r", "r", "f"), attempts("b", "r", "l", "r")))
    resolved, judged = (line for line in text.splitlines() if line.startswith("resolved"))
    assert resolved.rstrip().endswith(" 0.0")
    assert judged.rstrip().endswith("+50.0")
    assert "gained 1 of 3 shared tasks\n  task-2 0/1 \u2192 1/1" in text
    assert "lost 1 of 3 shared tasks\n  task-1 1/1 \u2192 0/1" in text


def test_a_sentence_says_what_is_significant_at_the_level_that_was_asked_for():
    comparison = compare(attempts("a", *"rrrrrrrr"), attempts("b", *"rrrfffff"))
    told = next(sentences(comparison))
    assert told.startswith("All attempts: \u221262.5 points, 95 % CI")
    assert "Not statistically significant (p = 0.062). Exact McNemar test over 8 tasks." in told
    loose = compare(attempts("a", *"rrrrrrrr"), attempts("b", *"rrrfffff"), alpha=0.1)
    assert "Statistically significant (p = 0.062): the first" in next(sentences(loose))


def test_tasks_of_one_run_alone_are_said_to_be_left_out():
    text = printed(compare(attempts("a", "r", "r"), attempts("b", "r")))
    assert "not compared, only in the first run: task-1" in text
    assert "no flips in 1 shared task" in text


def test_where_nothing_was_judged_in_both_that_is_said():
    assert "no task has one in both runs" in printed(
        compare(attempts("a", "l"), attempts("b", "r"))
    )


def test_of_very_many_flips_some_are_named_and_the_others_counted():
    text = printed(compare(attempts("a", *"r" * 70), attempts("b", *"f" * 70)))
    assert text.count("\u2192") == 50
    assert "\u2026 and 20 more: --format json names all" in text


def test_the_lines_of_the_run_that_has_more_of_them_come_in_their_order():
    text = printed(compare(attempts("a", "r", "f"), attempts("b", "rr", "rf")))
    assert text.index("pass@2") < text.index("cost per resolved") < text.index("reasons")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:30])
def test_a_hostile_name_of_an_agent_stays_in_its_cell(text):
    comparison = compare(attempts("a", "r", "f"), attempts("b", "f", "f"))
    made = "".join(comparison_markdown(comparison, RunNames(text, text)))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(made)
    assert len(re.findall("<th>", html)) == 4
    assert set(re.findall(r"<(\w+)", html)) <= {
        "table", "thead", "tbody", "tr", "th", "td", "p", "code", "ul", "li",
    }  # fmt: skip
    assert "<li><code>task-0</code> 1/1 \u2192 0/1</li>" in html
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f\u202e]", printed(comparison, RunNames(text, text))
    )
