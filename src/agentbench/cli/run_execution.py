"""Makes the attempts of a run, shows their progress, and ends with a table and an exit code."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

import typer

from agentbench.cli.process_setup import (
    ExitCode,
    handling_signals,
    raise_open_files_limit,
    stdout_for_results,
)
from agentbench.core.display_text import counted, printable

if TYPE_CHECKING:
    from agentbench.runs.run import Run
    from agentbench.runs.store.summaries import AttemptSummary


def say_line(line: str) -> None:
    """Print a message on stderr."""
    typer.echo(printable(line, limit=1000), err=True)


def say_nothing(_line: str) -> None:
    """Print no message, for `--quiet`."""


def print_warnings(warnings: Iterable[str]) -> None:
    """Print warnings on stderr."""
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)


def follow_run(run: "Run", *, quiet: bool, verbose: bool) -> None:
    """Make a run's attempts, and show each one when it ends; Ctrl-C stops the run cleanly."""
    raise_open_files_limit()
    display = None
    if verbose or not quiet:
        from agentbench.cli.live_progress import RunDisplay  # imports rich, which is slow

        display = RunDisplay(run, quiet=quiet, verbose=verbose)
    is_stopping = Event()

    def stop(number: int) -> None:
        # The second Ctrl-C ends the program at once, whatever still runs.
        if is_stopping.is_set():
            if display is not None:
                display.give_back()
            # `write`, since the handler may have interrupted a print.
            note = f"\nStopped at once; continue with: agentbench resume {run.store.folder}\n"
            os.write(sys.stderr.fileno(), note.encode(errors="replace"))
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        is_stopping.set()
        line = (
            "Stopping. Running attempts will be marked as interrupted (Ctrl-C again: stop at once)"
        )
        if display is None:
            typer.echo(line, err=True)
        else:
            display.notice(line)
        run.cancel()

    with stdout_for_results(), handling_signals(stop), display or nullcontext():
        for record in run.attempts():
            if display is not None:
                display.add(record)


def execute_run(
    run: "Run", *, as_json: bool, quiet: bool, verbose: bool, fail_under: float | None = None
) -> None:
    """Make a run's attempts, print the results of the whole run, and exit with its code."""
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.summary import ResultSummary, common_agent_error, summary_line

    print_warnings(run.warnings)
    started = time.monotonic()
    follow_run(run, quiet=quiet, verbose=verbose)
    seconds = time.monotonic() - started
    # A resumed run has earlier attempts, too, and its result is that of all of them.
    reported = ReportedRun.read(run.store.folder)
    attempts = reported.attempts
    summary = ResultSummary.of(attempts)
    if as_json:
        from agentbench.report.formats import json_chunks
        from agentbench.report.leaderboard import results_by_agent

        entrant = replace(reported.entrant, name=run.configuration.run_id)
        sys.stdout.writelines(json_chunks(results_by_agent([entrant]), reported.records()))
    elif not quiet:
        from agentbench.report.formats import print_table, print_task_table
        from agentbench.report.text_table import console_of

        # A table of all attempts of a large run scrolls away; `agentbench report` has it.
        has_several = len({each.task_id for each in attempts}) < len(attempts)
        (print_task_table if has_several else print_table)(attempts, console_of(sys.stdout))
    folder = str(run.store.folder)
    typer.echo(summary_line(summary, seconds=seconds, folder=folder), err=True)
    if attempts and not (quiet or run.resources.cancel.is_set()):
        typer.echo(f"next: {_next_command(attempts, folder)}", err=True)
    if run.resources.cancel.is_set():
        typer.echo(f"continue with: agentbench resume {folder}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED)
    planned = run.configuration.planned_attempts
    why = "--max-cost is spent"
    if run.has_reached_max_failures:
        limit = run.configuration.max_failures
        why = f"{counted(run.failures, 'attempt')} failed (--max-failures {limit})"
    if len(attempts) < planned:
        typer.echo(
            f"{planned - len(attempts)} of {counted(planned, 'attempt')} were not started: {why}; "
            f"continue with: agentbench resume {folder}",
            err=True,
        )
    elif run.has_reached_max_failures:
        typer.echo(why, err=True)
    if run.has_reached_max_failures:
        raise typer.Exit(ExitCode.CHECK_FAILED)
    if summary.infrastructure:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)
    # With exit code 0, a broken catalogue of tasks was green in CI.
    if attempts and not summary.judged.total:
        typer.echo(
            "no attempt was judged: each failed by the fault of its task; `agentbench validate` "
            "checks the tasks",
            err=True,
        )
        raise typer.Exit(ExitCode.INPUT)
    share = summary.overall.share
    is_below = fail_under is not None and share < fail_under
    if fail_under is not None and is_below:
        limit_text = f"{100 * fail_under:.6g} %"
        typer.echo(
            f"the resolved rate {100 * share:.1f} % is below --fail-under {limit_text}", err=True
        )
    error = common_agent_error(attempts)
    if error is not None:
        typer.echo(error, err=True)
    if is_below:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _next_command(attempts: "Sequence[AttemptSummary]", folder: str) -> str:
    """The command that says why an attempt failed; without one, the command for all attempts."""
    failed = [each for each in attempts if not each.resolved and not each.was_interrupted]
    if not failed:
        return f"agentbench report {shlex.quote(folder)}"
    first = min(failed, key=lambda each: (each.task_id, each.attempt))
    number = f" {first.attempt}" if first.attempt > 1 else ""
    command = f"agentbench show {shlex.quote(folder)} {first.task_id}{number}"
    return f"{command}  # why it failed"
