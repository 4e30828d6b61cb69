"""What a run shows while it goes on, and how Ctrl-C stops it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from agentbench.cli.open_files import allow_many_open_files

if TYPE_CHECKING:
    from agentbench.runs.record import AttemptRecord
    from agentbench.runs.run import Run


def follow(run: "Run", *, quiet: bool, verbose: bool) -> None:
    """Make a run's attempts, showing them as they end; Ctrl-C stops it cleanly.

    Nothing is kept of a record that was shown: runs may be long, and all is on disk.
    """
    console = Console(stderr=True)
    bar = _bar(console, hidden=quiet or not console.is_terminal)
    count, resolved, cost, total = 0, 0, 0.0, len(run.planned)
    allow_many_open_files()
    if not quiet:
        run.say = lambda line: bar.console.print(
            line, highlight=False, markup=False, soft_wrap=True
        )
    with _stopping(run), bar:
        line = bar.add_task("attempts", total=total, resolved="", cost="")
        for record in run.attempts():
            count, resolved = count + 1, resolved + record.resolved
            cost += (record.usage.cost_usd or 0.0) if record.usage is not None else 0.0
            share = f"{resolved}/{count} resolved"
            bar.update(line, advance=1, resolved=share, cost=f"${cost:.2f}")
            if verbose or not (quiet or console.is_terminal):
                bar.console.print(_attempt_line(record, count, total), highlight=False)


def _bar(console: Console, *, hidden: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[resolved]}"),
        TextColumn("{task.fields[cost]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=hidden,
    )


def _attempt_line(record: "AttemptRecord", count: int, total: int) -> str:
    from rich.markup import escape

    from agentbench.report.harmless import harmless

    verdict = "resolved" if record.resolved else f"{record.failure_reason}"
    detail = "" if record.resolved else f": {escape(harmless(record.detail, limit=160))}"
    number = f" attempt {record.attempt}" if record.attempt > 1 else ""
    seconds = record.timing.total_s
    return f"{count}/{total} {record.task_id}{number} {verdict} {seconds:.1f} s{detail}"


@contextmanager
def _stopping(run: "Run") -> Iterator[None]:
    """First Ctrl-C (or SIGTERM): stop cleanly. Second: at once."""
    pressed: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        pressed.append(time.monotonic())
        if len(pressed) > 1:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        typer.echo("stopping: what runs is cut off and cleaned up (once more: at once)", err=True)
        run.cancel()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
