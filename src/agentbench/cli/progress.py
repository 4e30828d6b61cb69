"""What a run shows while it goes on, and how Ctrl-C stops it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

import typer

from agentbench.cli.open_files import allow_many_open_files

if TYPE_CHECKING:
    from agentbench.cli.shown import Shown
    from agentbench.runs.run import Run


def follow(run: "Run", *, quiet: bool, verbose: bool) -> None:
    """Make a run's attempts, showing them as they end; Ctrl-C stops it cleanly.

    Nothing is kept of a record that was shown: runs may be long, and all is on disk.
    """
    allow_many_open_files()
    shown = _shown(run, quiet=quiet, verbose=verbose)
    with _stopping(run, shown), shown or nullcontext():
        for record in run.attempts():
            if shown is not None:
                shown.add(record)


def _shown(run: "Run", *, quiet: bool, verbose: bool) -> "Shown | None":
    if quiet and not verbose:
        return None
    from agentbench.cli.shown import Shown  # brings rich, which takes its time

    return Shown(run, quiet=quiet, verbose=verbose)


@contextmanager
def _stopping(run: "Run", shown: "Shown | None") -> Iterator[None]:
    """First Ctrl-C (or SIGTERM): stop cleanly. Second: at once."""
    pressed: list[float] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        pressed.append(time.monotonic())
        if len(pressed) > 1:
            if shown is not None:
                shown.give_back()
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
