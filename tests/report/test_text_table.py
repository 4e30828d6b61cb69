"""Tables in every width: nothing is left out, cut or written from top to bottom."""

import io
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from agentbench.report.text_table import TableColumn, console_of, print_rows, print_text

WIDTHS = (40, 60, 80, 100)
COLUMNS = (
    TableColumn(name="run"),
    TableColumn(name="task"),
    TableColumn(name="verdict", styles={"failed": "red"}),
    TableColumn(name="seconds", is_right=True),
    TableColumn(name="tests", below=2),
    TableColumn(name="detail", below=1),
)
ROW = (
    "20260102T120000-abcd",
    "lru-expiry",
    "failed",
    "12.5",
    "2 fixed, 3 failing",
    "1 of 2 tests failed: tests/test_cache.py::test_expiry[long-parameter-name] AssertionError",
)


def printed(columns, rows, width, **more):
    buffer = io.StringIO()
    print_rows(columns, rows, Console(file=buffer, width=width, color_system=None), **more)
    return buffer.getvalue()


def told(text):
    """All that a text says, however it is wrapped."""
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_column_is_named_and_every_cell_is_whole(width):
    text = printed(COLUMNS, [ROW, ROW], width)
    assert max(map(cell_len, text.splitlines())) <= width
    for column in COLUMNS:
        assert column.name in text
    short = [cell for cell in ROW if len(cell) <= 20]
    for cell in short:
        assert text.count(cell) >= 2
    assert "\u2026" not in text


def test_the_layout_follows_the_width():
    wide, folded, below, block = (printed(COLUMNS, [ROW], width) for width in (200, 110, 60, 40))
    assert len(wide.splitlines()) == 2
    assert folded.splitlines()[0].split()[-1] == "detail"
    assert below.splitlines()[2].startswith("  tests: 2 fixed, 3 failing \u00b7 detail: 1 of")
    assert block.splitlines()[:3] == [
        "run: 20260102T120000-abcd",
        "  task: lru-expiry",
        "  verdict: failed",
    ]


def test_a_pipe_gets_one_line_for_each_row_however_long_it_is():
    buffer = io.StringIO()
    row = (*ROW[:-1], "x " * 5_000)
    print_rows(COLUMNS, [row, row], console_of(buffer))
    print_text("word " * 1_000, console_of(buffer))
    assert len(buffer.getvalue().splitlines()) == 4


def test_a_pipe_stays_unwrapped_if_colours_are_forced(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    buffer = io.StringIO()
    print_rows(COLUMNS, [ROW], console_of(buffer))
    assert len(buffer.getvalue().splitlines()) == 2


texts = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"], max_codepoint=0xFFFF),
    max_size=60,
)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=3),
    st.integers(20, 120),
    st.booleans(),
)
@example([("\u6f22" * 40, "", "a b")], 21, True)
def test_no_width_loses_a_character(rows, width, has_header):
    names = ("first", "second") if has_header else ("", "")
    columns = (
        TableColumn(name=names[0]),
        TableColumn(name=names[1], below=1),
        TableColumn(below=2),
    )
    text = printed(columns, rows, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    found = told(text)
    for row in rows:
        for cell in row:
            # Wrapped cells are interleaved with others of their row: each word is still there.
            for word in cell.split():
                if cell_len(word) <= 10:
                    assert told(word) in found


def test_lines_of_a_cell_stay_below_each_other():
    text = printed((TableColumn(), TableColumn(below=1)), [("engine", "one\ntwo")], 80)
    assert text == "engine  one\n        two\n"
    narrow = printed(
        (TableColumn(), TableColumn(below=1)),
        [("engine", f"one\n{'two ' * 9}")],
        20,
    )
    assert narrow.splitlines()[:3] == ["engine", "  one", "  two two two two"]


def test_a_text_is_wrapped_at_words_and_indented():
    buffer = io.StringIO()
    print_text("  " + "word " * 12, Console(file=buffer, width=30, color_system=None), indent=4)
    first, *others = buffer.getvalue().splitlines()
    assert first.startswith("  word")
    assert others
    assert all(line.startswith("    word") for line in others)


def test_a_style_colours_its_cell_alone():
    buffer = io.StringIO()
    console = Console(file=buffer, width=200, force_terminal=True, color_system="standard")
    print_rows(COLUMNS, [ROW], console)
    assert "\x1b[31mfailed\x1b[0m" in buffer.getvalue()
