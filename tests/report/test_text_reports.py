"""Markdown read by another program: whatever a text says, it is a text in its cell."""

import io
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from agentbench.core.display_text import printable
from agentbench.report.attempt_text import HEADER
from agentbench.report.summary import ResultSummary
from agentbench.report.text_reports import code, escaped, head, print_summary, row
from tests.report.hostile import HOSTILE
from tests.report.rendered import as_markdown
from tests.report.several import attempts
from tests.runs.records import failed, lost, resolved

_OURS = {"table", "thead", "tbody", "tr", "th", "td", "p", "code"}


def rendered(text):
    """HTML, by a parser that lets all of a text's own HTML through."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


def cells(html):
    return re.findall(r"<td>(.*?)</td>", html, re.DOTALL)


def shown(cell):
    return unescape(re.sub(r"</?code>", "", cell))


def of_attempt(**more):
    return rendered(as_markdown([failed(**more)]))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text)[:30])
@pytest.mark.parametrize("field", ["detail", "agent"])
def test_a_hostile_text_is_text_in_one_cell(field, text):
    html = of_attempt(**{field: text})
    assert set(re.findall(r"<(\w+)", html)) <= _OURS
    assert len(cells(html.split("<table>")[2])) == len(HEADER)


@pytest.mark.parametrize("text", [text for text in HOSTILE if printable(text).strip()], ids=repr)
def test_whoever_wrote_it_stands_in_code_where_nobody_is_mentioned(text):
    (cell,) = cells(rendered(head(["x"]) + row([code(text)])))
    assert cell.startswith("<code>")
    assert cell.endswith("</code>")


@given(st.text(max_size=60))
def test_a_code_span_holds_its_text(text):
    (cell,) = cells(rendered(head(["x"]) + row([code(text)]))) or [""]
    expected = printable(text).strip()
    assert shown(cell).replace(" ", "") == expected.replace(" ", "")


@given(st.text(max_size=60))
def test_an_escaped_text_reads_as_it_was_written(text):
    found = cells(rendered(head(["x", "y"]) + row([escaped(text), "end"])))
    assert found[1] == "end"
    told, expected = ("".join(each.split()) for each in (unescape(found[0]), printable(text)))
    assert told == expected


def test_a_long_text_is_cut():
    assert len(code("x" * 100_000)) < 600


def test_attempts_come_below_both_rates_reasons_and_faults():
    made = [resolved(), failed(task_id="two"), lost(task_id="three")]
    text = as_markdown(made)
    assert text.startswith("resolved 1/3 (33.3 %")
    assert "excluding task and infrastructure errors (1)" in text
    assert "| faults | 1 infrastructure, 1 agent |" in text
    _, summary, attempts = rendered(text).split("<table>")
    assert "1/2 (50.0 %" in summary
    assert len(cells(attempts)) == 3 * len(HEADER)


def test_both_denominators_stand_side_by_side_at_a_terminal():
    buffer = io.StringIO()
    console = Console(file=buffer, width=140, color_system=None)
    print_summary(ResultSummary.of(attempts("a", "r", "f", "l")), console)
    text = buffer.getvalue()
    (line,) = [line for line in text.splitlines() if line.strip().startswith("resolved")]
    assert "1/3 (33.3 %" in line
    assert "1/2 (50.0 %" in line
    assert "excluding task and infrastructure errors (1)" in text


def test_a_narrow_terminal_folds_it_and_loses_nothing():
    buffer = io.StringIO()
    print_summary(
        ResultSummary.of(attempts("a", "rf", "fl")),
        Console(file=buffer, width=40, color_system=None),
    )
    assert max(map(len, buffer.getvalue().splitlines())) <= 40
    assert "pass^2" in buffer.getvalue()
