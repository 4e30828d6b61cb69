"""Attempts at a terminal: a bar and those under way, and a line for each where that is wanted."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from agentbench.cli.live_table import LiveTable
from agentbench.report.harmless import harmless

if TYPE_CHECKING:
    from agentbench.runs.record import AttemptRecord
    from agentbench.runs.run import Run

_A_SECOND = 4  # times that it is drawn
_LONGEST_BAR = 40  # columns of the terminal
_LEAST_BAR = 10
_FIGURES = 64  # columns that the figures beside the bar take, of up to 9,999 attempts
_SHOW_CURSOR = "\x1b[?25h\n"


class Shown:
    """What is shown of a run, from the beginning of the block to its end."""

    def __init__(self, run: "Run", *, quiet: bool, verbose: bool) -> None:
        console = Console(stderr=True)
        self._bar = _bar(console)
        self._live: Live | None = None
        is_terminal = console.file.isatty()  # rich takes a log for one if FORCE_COLOR is set
        if is_terminal and not quiet:
            drawn = Group(LiveTable(run.workshop.board), self._bar)
            self._live = Live(drawn, console=console, refresh_per_second=_A_SECOND)
        self._console = console
        self._lines = verbose or not (quiet or is_terminal)
        self._count, self._resolved, self._cost, self._total = 0, 0, 0.0, len(run.planned)
        self._line = self._bar.add_task("attempts", total=self._total, resolved="", cost="")
        if not quiet:
            run.say = lambda line: console.print(
                line, highlight=False, markup=False, soft_wrap=True
            )

    def __enter__(self) -> "Shown":
        """Show the bar, and what is under way."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave the bar as it stands."""
        if self._live is not None:
            self._live.stop()

    def give_back(self) -> None:
        """Leave the terminal as it was, whatever is being drawn: the program is about to die."""
        if self._live is not None:
            self._console.file.write(_SHOW_CURSOR)
            self._console.file.flush()

    def add(self, record: "AttemptRecord") -> None:
        """Count an attempt, and show it."""
        self._count, self._resolved = self._count + 1, self._resolved + record.resolved
        self._cost += (record.usage.cost_usd or 0.0) if record.usage is not None else 0.0
        share = f"{self._resolved}/{self._count} resolved"
        self._bar.update(self._line, advance=1, resolved=share, cost=f"${self._cost:.2f}")
        if self._lines:
            line = _attempt_line(record, self._count, self._total)
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def _bar(console: Console) -> Progress:
    """A line of figures, with as much of a bar as there is room for, or two lines of figures."""
    counts = (MofNCompleteColumn(), TextColumn("{task.fields[resolved]}"))
    others = (TextColumn("{task.fields[cost]}"), TimeElapsedColumn(), TimeRemainingColumn())
    room = min(_LONGEST_BAR, console.width - _FIGURES)
    if room >= _LEAST_BAR:
        bar = BarColumn(bar_width=room)
        return Progress(TextColumn("{task.description}"), bar, *counts, *others, console=console)
    if console.width >= _FIGURES:
        return Progress(TextColumn("{task.description}"), *counts, *others, console=console)
    return _TwoLines(*counts, *others, console=console)


class _TwoLines(Progress):
    """Figures in a narrow terminal: the counts, and below them cost and time."""

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Two lines for each task."""
        table = Table.grid()
        half = len(self.columns) // 2
        for task in tasks:
            for columns in (self.columns[:half], self.columns[half:]):
                line = Table.grid(padding=(0, 1))
                line.add_row(*(each(task) for each in columns if isinstance(each, ProgressColumn)))
                table.add_row(line)
        return table


def _attempt_line(record: "AttemptRecord", count: int, total: int) -> str:
    verdict = "resolved" if record.resolved else f"{record.failure_reason}"
    detail = "" if record.resolved else f": {harmless(record.detail, limit=160)}"
    number = f" attempt {record.attempt}" if record.attempt > 1 else ""
    seconds = record.timing.total_s
    return f"{count}/{total} {record.task_id}{number} {verdict} {seconds:.1f} s{detail}"
