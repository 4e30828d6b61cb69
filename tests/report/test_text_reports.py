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
from agentbench.errors import UsageError
from agentbench.report.attempt_columns import COLUMNS
from agentbench.report.summary import ResultSummary
from agentbench.report.text_reports import (
    GITHUB_SUMMARY_BYTES,
    GITHUB_SUMMARY_VARIABLE,
    append_summary,
    code,
    escaped,
    head,
    print_summary,
    row,
)
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
    assert len(cells(html.split("<table>")[2])) == len(COLUMNS)


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
    assert len(cells(attempts)) == 3 * len(COLUMNS)


def test_both_denominators_stand_side_by_side_at_a_terminal():
    buffer = io.StringIO()
    console = Console(file=buffer, width=140, color_system=None)
    print_summary(ResultSummary.of(attempts("a", "r", "f", "l")), console)
    text = buffer.getvalue()
    (line,) = [line for line in text.splitlines() if line.strip().startswith("resolved")]
    assert "1/3 (33.3 %" in line
    assert "1/2 (50.0 %" in line
    assert "excluding task and infrastructure errors (1)" in text


@pytest.fixture
def job(tmp_path):
    return {GITHUB_SUMMARY_VARIABLE: str(tmp_path / "summary.md")}, tmp_path / "summary.md"


def test_it_is_appended_to_what_other_commands_wrote(job):
    environ, path = job
    path.write_text("# before")
    assert append_summary(["| a |\n", "| b |\n"], environ)
    assert path.read_text() == "# before\n| a |\n| b |\n"


def test_outside_of_a_job_it_is_refused_with_what_to_do_instead():
    for environ in ({}, {GITHUB_SUMMARY_VARIABLE: ""}):
        with pytest.raises(UsageError, match=r"GITHUB_STEP_SUMMARY is not set.*--format markdown"):
            append_summary(["x"], environ)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        append_summary(["x"], {GITHUB_SUMMARY_VARIABLE: str(tmp_path / "no" / "summary.md")})


@pytest.mark.parametrize(
    "before",
    [
        0,
        5,
        GITHUB_SUMMARY_BYTES - 1000,
        GITHUB_SUMMARY_BYTES - 70,
        GITHUB_SUMMARY_BYTES - 1,
        GITHUB_SUMMARY_BYTES,
    ],
)
@pytest.mark.parametrize("piece", ["x\n", "\u20ac" * 33 + "\n"])
def test_it_never_grows_over_the_limit_and_says_where_it_is_cut(job, before, piece):
    environ, path = job
    path.write_bytes(b"b" * before)
    assert not append_summary([piece] * GITHUB_SUMMARY_BYTES, environ)
    content = path.read_bytes()
    assert len(content) <= GITHUB_SUMMARY_BYTES
    assert len(content) >= before
    if before < GITHUB_SUMMARY_BYTES - 100:
        assert content.decode().endswith(
            "Cut here: GitHub shows at most 1 MiB of a step's summary.\n"
        )
        assert content.decode()[before:].count(piece) > 5


def test_what_just_fits_is_not_cut(job):
    environ, path = job
    assert append_summary(["x" * (GITHUB_SUMMARY_BYTES - 200)], environ)
    assert path.stat().st_size == GITHUB_SUMMARY_BYTES - 199


def test_a_lone_surrogate_is_no_reason_to_fail(job):
    environ, path = job
    assert append_summary(["\ud800\n"], environ)
    assert path.read_text() == "\n?\n"
