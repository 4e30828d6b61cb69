"""Long texts in a real terminal, with a real pager."""

import os
import subprocess
import sys

import pytest

from agentbench.cli.paged_text import line_style
from tests.cli.pseudo_terminal import pseudo_terminal
from tests.patience import HANG_SECONDS

CODE = """\
from agentbench.cli.paged_text import line_style, print_paged
print_paged({text!r}, pager={pager}, style=line_style)
"""


def printed(text, *, rows=10, pager=True, **env):
    """What a terminal of 20 columns gets; PAGER writes to stdout how many lines it has read."""
    plain = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "COLUMNS", "LINES"}}
    terminal = {"TERM": "xterm-256color", "PAGER": "sed 's/^/paged: /'", **env}
    argv = [sys.executable, "-c", CODE.format(text=text, pager=pager)]
    with pseudo_terminal(columns=20, rows=rows) as (slave, parts):
        env = {**plain, **terminal}
        subprocess.run(argv, stdin=slave, stdout=slave, env=env, check=True, timeout=HANG_SECONDS)
    return b"".join(parts).decode().replace("\r\n", "\n")


LONG = "".join(f"  line {number}\n" for number in range(12))


def test_a_text_longer_than_the_terminal_is_paged():
    assert printed(LONG).startswith("paged:   line 0\npaged:   line 1\n")
    assert "paged" not in printed(LONG, rows=40)
    assert "paged" not in printed(LONG, pager=False)


def test_long_lines_count_by_the_rows_that_they_take():
    assert "paged" in printed("  " + "x" * 250)


def test_a_terminal_gets_colour_unless_no_color_is_set():
    text = "failed: TESTS_FAILED\n"
    assert printed(text) == "\x1b[1;31mfailed: TESTS_FAILED\x1b[0m\n"
    assert printed(text, NO_COLOR="1") == "\x1b[1mfailed: TESTS_FAILED\x1b[0m\n"  # only bold
    assert printed(text, TERM="dumb") == text


def test_a_pipe_gets_the_text_as_it_is():
    code = CODE.format(text=LONG, pager=True)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == LONG


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("resolved", "bold green"),
        ("quarantined: TESTS_FAILED", "bold red"),
        ("stages", "bold"),
        ("    expected   6", "green"),
        ("  -    return 1", "red"),
        ("  --- a/basket.py", "bold"),
        ("  setup    1.50 s", ""),
        ("", ""),
    ],
)
def test_the_beginning_of_a_line_gives_its_style(line, style):
    assert line_style(line) == style
