"""In a terminal of its own: what is drawn there is seen by nobody else."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager

import pytest

from tests.fakes.staging import small_task
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.full

WAITS = "echo begun; while [ ! -e go ]; do sleep 0.05; done"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
CURSOR = ("\x1b[?25l", "\x1b[?25h")  # hidden, shown


class Terminal:
    """A program in a terminal, and what it has shown so far."""

    def __init__(self, process, master):
        self.process = process
        self.shown = ""
        self._master = master

    def until(self, pattern):
        """Read on until a pattern has been shown."""
        while not re.search(pattern, ESCAPES.sub("", self.shown)):
            more = self._read()
            assert more, f"ended without {pattern!r}: {self.shown[-2000:]}"
        return ESCAPES.sub("", self.shown)

    def to_the_end(self):
        """Read all that is shown, and wait for the end; the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=HANG_SECONDS)

    def _read(self):
        try:
            more = os.read(self._master, 65_536).decode("utf-8", "replace")
        except OSError:  # how Linux tells that nobody holds the other end any more
            return ""
        self.shown += more
        return more


@pytest.fixture
def terminal(tmp_path, sandbox):
    """A run of two attempts, one of which is held up, in a terminal of 100 columns."""

    @contextmanager
    def opened(*more, columns=100, rows=30):
        small_task(tmp_path / "small")
        command = [sys.executable, "-m", "agentbench", "run", "small", "--sandbox", sandbox]
        command += ["-a", "command", "--agent-command", WAITS, "--allow-unsandboxed"]
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        with subprocess.Popen(
            [*command, *more],
            cwd=tmp_path,
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color"},
            start_new_session=True,
        ) as process:
            os.close(slave)
            try:
                yield Terminal(process, master)
            finally:
                process.kill()
                os.close(master)

    return opened


def test_what_is_under_way_is_shown_with_its_stage_and_time(terminal):
    with terminal() as shown:
        text = shown.until(r"small +attempt 1 +agent_run +(?!0:00)\d+:\d\d")
        assert "0/1" in text
        assert "0/0 resolved" not in text
        shown.process.send_signal(signal.SIGINT)
        assert shown.to_the_end() == 130
    assert shown.shown.count(CURSOR[0]) == shown.shown.count(CURSOR[1]) == 1
    assert "continue with: agentbench resume" in shown.shown


def test_an_end_at_once_gives_the_cursor_back(terminal):
    with terminal() as shown:
        shown.until(r"agent_run")
        shown.process.send_signal(signal.SIGINT)
        shown.until(r"Ctrl-C again: stop at once")
        shown.process.send_signal(signal.SIGINT)
        assert shown.to_the_end() in (-signal.SIGINT, 130)
    hidden, given_back = (shown.shown.rfind(mark) for mark in CURSOR)
    assert given_back > hidden >= 0
