"""The progress of a run at a terminal: ended attempts, running attempts, and a bar."""

import os
import sys
from collections.abc import Iterable
from queue import SimpleQueue
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any, Self

import typer
from rich import progress
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agentbench.attempt.resources import AttemptStatus, LiveStatus
from agentbench.core.display_text import counted, printable
from agentbench.report.attempt_files import without_log_prefix
from agentbench.report.summary import TAMPERED
from agentbench.runs.store.summaries import detail_of

if TYPE_CHECKING:
    from agentbench.attempt.record import AttemptRecord
    from agentbench.runs.run import Run


_RESERVED_LINES = 4  # of a terminal, for the bar and the line above it
_NARROW = 12  # columns that a task's id always has
# In a narrower terminal an attempt takes two lines.
_LEAST_WIDTH = 72
_REFRESHES_PER_SECOND = 4
_LONGEST_BAR = 40  # columns of the terminal
_LEAST_BAR = 10
_FIGURES_WIDTH = 64  # columns of the figures next to the bar, of up to 9,999 attempts
_MAX_FAILURE = 60  # characters of a failed request's message
_MAX_OUTPUT = 200
_TAIL_BYTES = 2_048  # of a log
_RIGHT = (2, 3)  # the columns of time and cost, after the task
_MAX_DETAIL = 160  # characters of a failure at a terminal
_SHOW_CURSOR = "\x1b[?25h\n"


class RunningAttemptsTable:
    """Draws the running attempts: task, attempt, stage and its time, cost, and the last output."""

    def __init__(self, live: LiveStatus) -> None:
        self._live_status = live

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        running = self._live_status.running()
        if not running:
            return
        is_narrow = options.max_width < _LEAST_WIDTH
        lines = (options.height or console.height) - _RESERVED_LINES
        max_rows = max(1, lines // 2 if is_narrow else lines)
        visible = running if len(running) <= max_rows else running[: max(1, max_rows - 1)]
        now = self._live_status.clock()
        rows = [_cells(entry, now) for entry in visible]
        # The last output only where every attempt has a line for it.
        has_output = len(visible) * (3 if is_narrow else 2) <= lines
        outputs = [_last_output(entry) if has_output else "" for entry in visible]
        # Not rich's table, since a line of output goes below its row.
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        widths[0] = max(widths[0], _NARROW)
        others = sum(width + 2 for width in widths[1:] if width)
        widths[0] = max(_NARROW, min(widths[0], options.max_width - others))
        for (task, *cells), output in zip(rows, outputs, strict=True):
            if is_narrow:
                yield Text(task, no_wrap=True, overflow="ellipsis")
                line = f"  {' '.join(filter(None, cells))}".replace("attempt ", "#")
            else:
                texts = [set_cell_size(_fitting(task, widths[0]), widths[0])]
                texts += [
                    cell.rjust(width) if number in _RIGHT else set_cell_size(cell, width)
                    for number, (cell, width) in enumerate(zip(cells, widths[1:], strict=True))
                    if width
                ]
                line = "  ".join(texts).rstrip()
            yield Text(line, no_wrap=True, overflow="ellipsis")
            if output:
                yield Text(f"  {output}", style="dim", no_wrap=True, overflow="ellipsis")
        if len(visible) < len(running):
            yield Text(f"… and {len(running) - len(visible)} more running", style="dim")


def _fitting(text: str, width: int) -> str:
    """A text of at most this width, with an ellipsis if it is longer."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _cells(entry: AttemptStatus, now: float) -> tuple[str, ...]:
    retry = f", retry {entry.retry_of}" if entry.retry_of else ""
    stage = entry.stage.value if entry.stage is not None else f"on {entry.where}"
    began, cost, work, trouble = entry.began, "", "", ""
    if entry.stage is None and entry.where is None:
        fault = entry.waits_for() if entry.waits_for is not None else None
        stage = "waiting" if fault is None else f"waiting: {printable(fault, limit=_MAX_FAILURE)}"
    elif entry.stage is not None:
        began = entry.stage_began
    elapsed = _clock(now - began)
    if entry.stage is not None and entry.limit is not None:
        elapsed += f" of {_clock(entry.limit.total_seconds())}"
    if entry.traffic is not None:
        traffic = entry.traffic()
        spent, failure = traffic.usage.cost_usd, traffic.last_failure
        cost = "cost unknown" if spent is None else f"${spent:.2f}"
        if traffic.usage.requests:
            tokens = traffic.usage.input_tokens + traffic.usage.output_tokens
            work = f"{counted(traffic.usage.requests, 'request')}, {_short(tokens)} tokens"
        # Nothing was on the screen while a model failed, and its client retried for minutes.
        if failure is not None:
            status = f"HTTP {failure.status}" if failure.status is not None else failure.kind.value
            message = printable(failure.message, limit=_MAX_FAILURE)
            trouble = f"model: {status} x{traffic.errors.get(failure.kind, 0)}: {message}"
    return (
        printable(entry.task_id),
        f"attempt {entry.attempt}{retry}",
        stage,
        elapsed,
        cost,
        work,
        trouble,
    )


def _short(number: int) -> str:
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:,}"


def _last_output(entry: AttemptStatus) -> str:
    """The last line of the stage's log that has text."""
    if entry.stage is None or entry.log is None:
        return ""
    try:
        with entry.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:  # the stage has not begun its log
        return ""
    texts = (printable(without_log_prefix(line), limit=_MAX_OUTPUT).strip() for line in lines)
    return next((text for text in reversed([*texts]) if text), "")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _SerialConsole(Console):
    """A console that draws and prints in one thread at a time."""

    # rich reads how many lines the live display has, and writes over them, in two steps. If another
    # thread draws in between, and their number changes, the second step erases printed lines.

    def __init__(self) -> None:
        self._turn = RLock()
        # The stream of now: what an agent prints goes elsewhere, but not our lines in its thread.
        super().__init__(file=sys.stderr, highlight=False, markup=False)

    def __enter__(self) -> Self:
        self._turn.acquire()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401 - as in the base class
        try:
            super().__exit__(*error)
        finally:
            self._turn.release()


class RunDisplay:
    """Shows a run during the block."""

    def __init__(self, run: "Run", *, quiet: bool, verbose: bool) -> None:
        console = _SerialConsole()
        self._bar = _bar(console)
        self._live: Live | None = None
        # With FORCE_COLOR, rich takes a log for a terminal.
        is_terminal = console.file.isatty()
        if is_terminal and not quiet:
            drawn = Group(RunningAttemptsTable(run.resources.live_status), self._bar)
            # rich's own thread would take its locks in another order than prints do.
            self._live = Live(drawn, console=console, auto_refresh=False)
        self._console = console
        self._lines = verbose or not quiet
        self._count, self._resolved, self._cost, self._total = 0, 0, 0.0, len(run.planned)
        self._line = self._bar.add_task(
            "attempts",
            total=self._total,
            resolved="",
            cost="",
            # Nobody sees a bar elsewhere, and its live status may be missing.
            live=run.resources.live_status if self._live is not None else None,
        )
        self._notices: SimpleQueue[str] = SimpleQueue()
        self._ended = Event()
        self._refreshing = Thread(target=self._refresh, name="live-progress", daemon=True)
        if not quiet:
            run.say = lambda line: console.print(line, soft_wrap=True)

    def __enter__(self) -> "RunDisplay":
        if self._live is not None:
            with self._console:
                self._live.start(refresh=True)
            self._refreshing.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live is None:
            return
        self._ended.set()
        self._refreshing.join()
        with self._console:
            self._print_notices()
            self._live.stop()

    def _refresh(self) -> None:
        assert self._live is not None
        while not self._ended.wait(1 / _REFRESHES_PER_SECOND):
            with self._console:
                self._print_notices()
                self._live.refresh()

    def _print_notices(self) -> None:
        while not self._notices.empty():
            self._console.print(self._notices.get(), soft_wrap=True)

    def notice(self, line: str) -> None:
        """Print a line from a signal handler: at once, or when the display is drawn next."""
        # A handler may have interrupted a print of its own thread, whose lines it would break.
        if self._live is None:
            typer.echo(line, err=True)
        else:
            self._notices.put(line)

    def give_back(self) -> None:
        """Restore the terminal before the program is killed."""
        if self._live is not None:
            self._console.file.write(_SHOW_CURSOR)
            self._console.file.flush()

    def add(self, record: "AttemptRecord") -> None:
        """Count an attempt, and print its line; at a terminal, above the live display."""
        self._count, self._resolved = self._count + 1, self._resolved + record.resolved
        self._cost += (record.usage.cost_usd or 0.0) if record.usage is not None else 0.0
        share = f"{self._resolved}/{self._count} resolved"
        self._bar.update(self._line, advance=1, resolved=share, cost=f"${self._cost:.2f}")
        if self._lines:
            number = f" attempt {record.attempt}" if record.attempt > 1 else ""
            line = Text(f"{self._count}/{self._total} {record.task_id}{number} ")
            seconds = f" {record.timing.total_s:.1f} s"
            if record.tampered_paths:
                seconds = f"{seconds}, {TAMPERED}"
            if record.resolved:
                line.append("resolved", "green").append(seconds)
            else:
                # The prefix would repeat the verdict.
                # A pipe's lines are never shortened.
                limit = _MAX_DETAIL if self._live is not None else None
                detail = printable(detail_of(record).removeprefix("quarantined: "), limit=limit)
                if record.quarantined:
                    line.append("quarantined", "magenta")
                else:
                    line.append(f"{record.failure_reason}", "red")
                line.append(f"{seconds}: {detail}")
            self._console.print(line, soft_wrap=True)


class _TimeColumn(progress.ProgressColumn):
    # rich's own estimate follows the last seconds, in which several attempts or none may have
    # ended.

    def render(self, task: progress.Task) -> Text:
        elapsed = task.elapsed or 0.0
        text = f"{_clock(elapsed)} elapsed"
        if task.completed and task.remaining:
            # A running attempt is half done on average; without them, the estimate is too long.
            live = task.fields.get("live")
            halves = min(len(live.running()) if live is not None else 0, task.remaining) / 2
            left = elapsed * (task.remaining - halves) / (task.completed + halves)
            text += f", about {_clock(left)} left"
        return Text(text, style="progress.elapsed")


def _bar(console: Console) -> progress.Progress:
    text = progress.TextColumn
    columns = (
        progress.MofNCompleteColumn(),
        text("{task.fields[resolved]}"),
        text("{task.fields[cost]}"),
        _TimeColumn(),
    )
    if console.width < _FIGURES_WIDTH:
        return _TwoLines(*columns, console=console)
    bar_width = min(_LONGEST_BAR, console.width - _FIGURES_WIDTH)
    bar = [progress.BarColumn(bar_width=bar_width)] if bar_width >= _LEAST_BAR else []
    return progress.Progress(text("{task.description}"), *bar, *columns, console=console)


class _TwoLines(progress.Progress):
    # In a narrow terminal: the counts, and below them cost and time.

    def make_tasks_table(self, tasks: Iterable[progress.Task]) -> Table:
        table = Table.grid()
        half = len(self.columns) // 2
        for task in tasks:
            for columns in (self.columns[:half], self.columns[half:]):
                line = Table.grid(padding=(0, 1))
                line.add_row(
                    *(each(task) for each in columns if isinstance(each, progress.ProgressColumn))
                )
                table.add_row(line)
        return table
