"""A run at a terminal that changes its size, with tmux as the terminal and as the witness."""

import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needed import require_tool
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.full

ATTEMPTS = 42
_RUN = f"""
import time
from types import SimpleNamespace
from agentbench.attempt.resources import LiveStatus
from agentbench.cli.live_progress import RunDisplay
from tests.runs.records import resolved

board = LiveStatus()
run = SimpleNamespace(resources=SimpleNamespace(live_status=board), planned=range({ATTEMPTS}))
with RunDisplay(run, quiet=False, verbose=False) as display:
    for number in range({ATTEMPTS}):
        running = [board.begin("a-task-with-a-long-name" * 3, 1) for _ in range(number % 5)]
        time.sleep(0.15)
        display.add(resolved(task_id=f"task-{{number}}"))
        for each in running:
            board.end(each)
"""


class Terminal:
    """One window of a tmux server of its own."""

    def __init__(self, folder: Path, *, columns: int, rows: int) -> None:
        self._socket = folder / "tmux"
        # The history's limit holds for windows that open after it was set.
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "first", "sh")
        self._tmux("set-option", "-g", "history-limit", "5000")
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("new-session", "-d", "-s", "seen", *size, "env PS1='$ ' sh")

    def _tmux(self, *arguments: str) -> str:
        command = ("tmux", "-S", self._socket, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def enter(self, line: str) -> None:
        self._tmux("send-keys", "-t", "seen", line, "Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "seen", "-x", str(columns), "-y", str(rows))

    def lines(self) -> list[str]:
        """All lines, with those that have scrolled out of it; a wrapped one is one line."""
        text = self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "seen")
        return [line.rstrip() for line in text.splitlines()]

    def end(self) -> None:
        self._tmux("kill-server")


@pytest.fixture(params=[80, 140])
def terminal(request, tmp_path) -> Iterator[Terminal]:
    require_tool("tmux")
    opened = Terminal(tmp_path, columns=request.param, rows=24)
    yield opened
    opened.end()


def test_no_line_is_lost_when_the_terminal_is_resized(terminal, tmp_path):
    (tmp_path / "run.py").write_text(_RUN)
    unset = "env -u COLUMNS -u LINES -u NO_COLOR -u FORCE_COLOR"
    program = shlex.join([sys.executable, str(tmp_path / "run.py")])
    root = Path(__file__).parents[3]
    terminal.enter(f"cd {root} && PYTHONPATH=. {unset} {program}; echo 'the' end")
    sizes = random.Random(42)
    deadline = time.monotonic() + HANG_SECONDS
    while "the end" not in (lines := terminal.lines()):
        assert time.monotonic() < deadline, lines
        terminal.resize(sizes.randint(40, 200), sizes.randint(8, 60))
        time.sleep(sizes.uniform(0.05, 0.5))
    terminal.resize(200, 50)
    for number in range(ATTEMPTS):
        assert terminal.lines().count(f"{number + 1}/{ATTEMPTS} task-{number} resolved 1.0 s") == 1
