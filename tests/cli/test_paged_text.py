"""Long texts in a real terminal, with a real pager."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from agentbench.cli.paged_text import line_style
from tests.patience import HANG_SECONDS

CODE = """\
from agentbench.cli.paged_text import line_style, print_paged
print_paged({text!r}, pager={pager}, style=line_style)
"""


def printed(text, *, rows=10, pager=True, **env):
    """What a terminal of 20 columns gets; PAGER writes to stdout how many lines it has read."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 20, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "COLUMNS", "LINES"}}
    terminal = {"TERM": "xterm-256color", "PAGER": "sed 's/^/paged: /'", **env}
    code = CODE.format(text=text, pager=pager)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=slave, env={**plain, **terminal}
    ) as process:
        os.close(slave)
        shown = b""
        try:
            while more := os.read(master, 65_536):
                shown += more
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(master)
        assert process.wait(timeout=HANG_SECONDS) == 0
    return shown.decode().replace("\r\n", "\n")


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
