import io

from rich.console import Console

from agentbench.attempt.resources import LiveStatus
from agentbench.cli.live_progress import RunningAttemptsTable
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.problem import TaskId


def drawn(board, *, width=80, height=24):
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    console.print(RunningAttemptsTable(board))
    return console.file.getvalue()


def lines(text):
    return [line.split() for line in text.splitlines()]


def test_an_attempt_is_told_with_its_stage_time_and_cost():
    board = LiveStatus(clock=lambda: 0.0)
    entry = board.begin(TaskId("lru-expiry"), 2, retry_of=1)
    entry.stage = StageName.AGENT_RUN
    entry.spent_usd = lambda: 0.125
    entry.began -= 3_725.9
    told = ["lru-expiry", "attempt", "2,", "retry", "1", "agent_run", "1:02:05", "$0.12"]
    assert lines(drawn(board)) == [told]


def test_what_is_not_known_is_not_made_up():
    board = LiveStatus(clock=lambda: 0.0)
    board.begin(TaskId("waits"), 1)
    board.begin(TaskId("away"), 1).where = "the cluster"
    board.begin(TaskId("dear"), 1).spent_usd = lambda: None
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
        entry.spent_usd = lambda: 10.125
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
