"""The attempts under way, as a table that is drawn again and again."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from agentbench.report.harmless import harmless
from agentbench.runs.board import Board, Entry

_BESIDE = 4  # lines of a terminal that are left for the bar and what stands above it
_NARROW = 12  # columns that a task's id keeps in any case
_LEAST_WIDTH = 72  # of a terminal: in a narrower one an attempt takes two lines


class LiveTable:
    """Draws what a board says at that moment: task, attempt, stage, time, cost."""

    def __init__(self, board: Board) -> None:
        """Draw this board."""
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many lines as the terminal has room for; the others are counted."""
        under_way = self._board.under_way()
        if not under_way:
            return
        is_narrow = options.max_width < _LEAST_WIDTH
        lines = (options.height or console.height) - _BESIDE
        room = max(1, lines // 2 if is_narrow else lines)
        shown = under_way if len(under_way) <= room else under_way[: max(1, room - 1)]
        now = self._board.clock()
        yield Group(*_pairs(shown, now)) if is_narrow else _table(shown, now)
        if len(shown) < len(under_way):
            yield Text(f"… and {len(under_way) - len(shown)} more under way", style="dim")


def _table(entries: Sequence[Entry], now: float) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(min_width=_NARROW)  # the one that gives way where there is little room
    for _ in ("attempt", "stage"):
        table.add_column(no_wrap=True)
    for _ in ("time", "cost"):
        table.add_column(no_wrap=True, justify="right")
    for entry in entries:
        texts = (Text(cell, no_wrap=True, overflow="ellipsis") for cell in _cells(entry, now))
        table.add_row(*texts)
    return table


def _pairs(entries: Sequence[Entry], now: float) -> Iterator[Text]:
    """Two lines for each attempt: its task, and all else."""
    for entry in entries:
        task, *others = filter(None, _cells(entry, now))
        yield Text(task, no_wrap=True, overflow="ellipsis")
        yield Text(f"  {' '.join(others)}".replace("attempt ", "#"))


def _cells(entry: Entry, now: float) -> tuple[str, ...]:
    retry = f", retry {entry.retry_of}" if entry.retry_of else ""
    stage = entry.stage.value if entry.stage is not None else f"on {entry.where}"
    return (
        harmless(entry.task_id),
        f"attempt {entry.attempt}{retry}",
        "waiting" if entry.stage is None and entry.where is None else stage,
        _clock(now - entry.began),
        _cost(entry),
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _cost(entry: Entry) -> str:
    if entry.spent_usd is None:
        return ""
    spent = entry.spent_usd()
    return "$?" if spent is None else f"${spent:.2f}"
