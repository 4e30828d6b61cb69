import heapq
import io
import os
import random
import re
import sys
from datetime import timedelta
from threading import Thread
from types import SimpleNamespace

import pytest
from rich.console import Console

from agentbench.attempt.resources import LiveStatus
from agentbench.cli import live_progress
from agentbench.cli.live_progress import RunDisplay, RunningAttemptsTable
from agentbench.models.interface import ModelErrorKind, ModelFailure, ModelTraffic, ModelUsage
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import StageName
from tests.cli.pseudo_terminal import pseudo_terminal
from tests.runs.records import failed, resolved

_PARTS = re.compile(r"\x1b\[(?P<number>[0-9;?]*)(?P<code>[a-zA-Z])|(?P<text>[^\x1b])", re.DOTALL)


class Screen:
    """The lines of a terminal, with those that have scrolled out of it."""

    def __init__(self, *, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self.lines = [""]
        self._row = self._column = 0

    def show(self, text: str) -> None:
        """Take the output of a program."""
        for part in _PARTS.finditer(text):
            if part["code"] == "A":
                top = max(0, len(self.lines) - self._rows)
                self._row = max(top, self._row - int(part["number"] or 1))
            elif part["code"] == "K":
                self.lines[self._row] = ""
            elif part["text"] == "\r":
                self._column = 0
            elif part["text"] == "\n":
                self._next_line()
            elif part["text"]:
                self._put(part["text"])

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._next_line()
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _next_line(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.lines):
            self.lines.append("")


def drawn(board, *, width=80, height=24):
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    console.print(RunningAttemptsTable(board))
    return console.file.getvalue()


def lines(text):
    return [line.split() for line in text.splitlines()]


def spent(cost, **more):
    """The traffic of an attempt that has cost so much."""
    return lambda: ModelTraffic(usage=ModelUsage(cost_usd=cost), **more)


def test_failing_model_is_shown_while_it_fails():
    board = LiveStatus(clock=lambda: 0.0)
    failure = ModelFailure(
        kind=ModelErrorKind.SERVER_ERROR, status=500, message="CUDA out of memory"
    )
    errors = {ModelErrorKind.SERVER_ERROR: 3}
    board.begin(TaskId("a"), 1).traffic = spent(None, errors=errors, last_failure=failure)
    assert "model: HTTP 500 x3: CUDA out of memory" in drawn(board, width=120)
    gone = ModelFailure(kind=ModelErrorKind.CONNECTION, message="refused")
    board.begin(TaskId("b"), 1).traffic = spent(0.0, errors={gone.kind: 1}, last_failure=gone)
    assert "model: connection x1: refused" in drawn(board, width=120)


def test_an_attempt_is_told_with_its_stage_time_and_cost():
    board = LiveStatus(clock=lambda: 0.0)
    entry = board.begin(TaskId("lru-expiry"), 2, retry_of=1)
    entry.stage = StageName.AGENT_RUN
    entry.traffic = spent(0.125)
    entry.stage_began -= 3_725.9
    told = ["lru-expiry", "attempt", "2,", "retry", "1", "agent_run", "1:02:05", "$0.12"]
    assert lines(drawn(board)) == [told]


def test_a_row_has_the_limit_tokens_and_the_last_line_of_output(tmp_path):
    board = LiveStatus(clock=lambda: 100.0)
    entry = board.begin(TaskId("lru-expiry"), 1)
    entry.stage, entry.stage_began, entry.limit = StageName.AGENT_RUN, 93.0, timedelta(minutes=30)
    usage = ModelUsage(requests=4, input_tokens=12_000, output_tokens=345, cost_usd=0.5)
    entry.traffic = lambda: ModelTraffic(usage=usage)
    entry.log = tmp_path / "agent_run.log"
    entry.log.write_text("[  0.1 stdout] first\n[  0.2 stdout] reading \x1b[31mcache.py\n\n")
    row, output = drawn(board).splitlines()
    assert "agent_run  0:07 of 30:00  $0.50  4 requests, 12k tokens" in row
    assert "  reading cache.py" in output
    assert drawn(board, height=5).splitlines()[1:] == []  # no room for it


def test_an_attempt_says_what_it_waits_for():
    board = LiveStatus()
    board.begin(TaskId("a"), 1).waits_for = lambda: "the engine does not answer"
    assert "waiting: the engine does not answer" in drawn(board)


def test_what_is_not_known_is_not_made_up():
    board = LiveStatus(clock=lambda: 0.0)
    board.begin(TaskId("waits"), 1)
    board.begin(TaskId("away"), 1).where = "the cluster"
    board.begin(TaskId("dear"), 1).traffic = spent(None)
    assert lines(drawn(board)) == [
        ["waits", "attempt", "1", "waiting", "0:00"],
        ["away", "attempt", "1", "on", "the", "cluster", "0:00"],
        ["dear", "attempt", "1", "waiting", "0:00", "cost", "unknown"],
    ]


def test_no_more_is_drawn_than_the_terminal_has_room_for():
    board = LiveStatus()
    for number in range(50):
        board.begin(TaskId("many"), number)
    told = drawn(board, height=10).splitlines()
    assert len(told) == 6
    assert "… and 45 more running" in told[-1]


def test_in_a_narrow_terminal_an_attempt_takes_two_lines_and_nothing_is_cut():
    board = LiveStatus(clock=lambda: 0.0)
    for name in ("lru-expiry", "a" * 100):
        entry = board.begin(TaskId(name), 12, retry_of=1)
        entry.stage = StageName.AGENT_RUN
        entry.traffic = spent(10.125)
    for width in (40, 60):
        task, others, long_task, _ = drawn(board, width=width).splitlines()
        assert task.rstrip() == "lru-expiry"
        assert others.split() == ["#12,", "retry", "1", "agent_run", "0:00", "$10.12"]
        assert len(long_task) == width


def test_in_a_low_and_narrow_terminal_attempts_are_counted_in_lines():
    board = LiveStatus()
    for number in range(50):
        board.begin(TaskId("many"), number)
    told = drawn(board, width=40, height=10).splitlines()
    assert len(told) == 5
    assert "… and 48 more running" in told[-1]


def test_nothing_under_way_is_no_line():
    assert drawn(LiveStatus()) == ""


def test_markup_and_escape_sequences_stay_text():
    board = LiveStatus()
    board.begin(TaskId("[bold]x[/bold]\x1b[31m"), 1)
    told = drawn(board)
    assert "[bold]x[/bold]" in told
    assert "\x1b[31m" not in told


@pytest.fixture
def displayed(monkeypatch):
    """What a run of three attempts shows at a terminal while the third one goes on."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(**options):
        board = LiveStatus(clock=lambda: 0.0)
        resources = SimpleNamespace(live_status=board)
        with (
            pseudo_terminal() as (terminal, parts),
            monkeypatch.context() as patch,
            os.fdopen(terminal, "w", encoding="utf-8", closefd=False) as stderr,
        ):
            patch.setattr(sys, "stderr", stderr)
            run = SimpleNamespace(resources=resources, planned=range(3))
            with RunDisplay(run, **options) as display:
                board.begin(TaskId("slow"), 1)
                display.add(resolved(task_id="good"))
                display.add(failed(task_id="bad", attempt=2))
        return b"".join(parts).decode()

    return shown


def test_ended_attempts_stay_above_the_running_ones(displayed):
    text = displayed(quiet=False, verbose=False)
    (_, after) = text.split("1/3 good ")
    (between, below) = after.split("2/3 bad attempt 2 ")
    assert between.startswith("\x1b[32mresolved\x1b[0m 1.0 s\r\n")
    assert below.startswith("\x1b[31mTESTS_FAILED\x1b[0m 1.0 s: 1 of 2 tests failed\r\n")
    for drawn_again in (between, below):
        assert drawn_again.index("slow") < drawn_again.index("/3")


def test_without_colour_the_words_say_the_same(displayed, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = displayed(quiet=False, verbose=False)
    assert "1/3 good resolved 1.0 s\r\n" in text
    assert "2/3 bad attempt 2 TESTS_FAILED 1.0 s: 1 of 2 tests failed\r\n" in text


def test_verbose_and_quiet_are_the_lines_without_the_display(displayed):
    text = displayed(quiet=True, verbose=True)
    assert "2/3 bad" in text
    assert "slow" not in text


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (100, 30), (50, 20)])
def test_no_line_is_lost_while_running_attempts_come_and_go(monkeypatch, columns, rows):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(live_progress, "_REFRESHES_PER_SECOND", 1_000)
    board = LiveStatus()
    result = [f"said by thread {number}" for number in range(150)]
    with (
        pseudo_terminal(columns=columns, rows=rows) as (terminal, parts),
        monkeypatch.context() as patch,
        os.fdopen(terminal, "w", encoding="utf-8", closefd=False) as stderr,
    ):
        patch.setattr(sys, "stderr", stderr)
        run = SimpleNamespace(resources=SimpleNamespace(live_status=board), planned=range(150))
        with RunDisplay(run, quiet=False, verbose=False) as display:

            def say():
                for line in result:
                    run.say(line)

            other = Thread(target=say)
            other.start()
            for number in range(150):
                running = [board.begin(TaskId(f"t{each}"), 1) for each in range(number * 7 % 11)]
                display.add(resolved(task_id=f"task-{number}"))
                for each in running[::2]:
                    board.end(each)
                display.notice(f"noted {number}")
                for each in running[1::2]:
                    board.end(each)
            other.join()
    screen = Screen(columns=columns, rows=rows)
    screen.show(b"".join(parts).decode())
    expected = {f"{number + 1}/150 task-{number} resolved 1.0 s" for number in range(150)}
    expected |= {*result, *(f"noted {number}" for number in range(150))}
    assert expected - set(map(str.rstrip, screen.lines)) == set()


def time_left(elapsed, completed, total, running):
    board = LiveStatus()
    for _ in range(running):
        board.begin(TaskId("a"), 1)
    remaining = total - completed
    task = SimpleNamespace(
        elapsed=float(elapsed), completed=completed, remaining=remaining, fields={"live": board}
    )
    return live_progress._TimeColumn().render(task).plain


@pytest.mark.parametrize(
    ("elapsed", "completed", "running", "text"),
    [
        (12, 4, 0, "0:12 elapsed, about 1:54 left"),  # 4 of 42 attempts
        (12, 4, 4, "0:12 elapsed, about 1:12 left"),  # those that run are half done
        (12, 0, 4, "0:12 elapsed"),
        (109, 42, 0, "1:49 elapsed"),
        (7_200, 21, 0, "2:00:00 elapsed, about 2:00:00 left"),
    ],
)
def test_the_time_left_follows_from_ended_and_running_attempts(elapsed, completed, running, text):
    assert time_left(elapsed, completed, 42, running) == text


@pytest.mark.parametrize(("total", "jobs"), [(42, 4), (42, 2), (60, 4)])
def test_the_estimate_is_within_30_percent_after_a_third_of_a_run(total, jobs):
    misses = 0
    for seed in range(200):
        drawn = random.Random(seed)
        durations = [drawn.lognormvariate(3, 0.4) for _ in range(total)]
        # As a pool of workers makes them.
        slots, ends = [0.0] * jobs, []
        for seconds in durations:
            begin = heapq.heappop(slots)
            heapq.heappush(slots, begin + seconds)
            ends.append(begin + seconds)
        ends.sort()
        now = ends[total // 3 - 1]
        text = time_left(now, total // 3, total, jobs).partition("about ")[2].removesuffix(" left")
        left = sum(60**n * int(part) for n, part in enumerate(reversed(text.split(":"))))
        misses += abs(now + left - ends[-1]) > 0.3 * ends[-1]
    assert misses <= 10


def test_a_pipe_gets_the_whole_detail_of_a_failure(capsys):
    board = LiveStatus()
    run = SimpleNamespace(resources=SimpleNamespace(live_status=board), planned=range(1))
    detail = f"1 of 2 tests failed{' and more' * 40}"
    with RunDisplay(run, quiet=False, verbose=False) as display:
        display.add(failed().replace(detail=detail))
    assert capsys.readouterr().err.endswith(f": {detail}\n")
