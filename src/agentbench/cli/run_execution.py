"""Makes the attempts of a run, shows their progress, and ends with a table and an exit code."""

import signal
import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

from agentbench.cli.process_setup import (
    ExitCode,
    handling_signals,
    raise_open_files_limit,
    stdout_for_results,
)
from agentbench.core.display_text import counted, printable
from agentbench.core.host import available_cpus

if TYPE_CHECKING:
    from agentbench.cli.live_progress import RunDisplay
    from agentbench.report.reported_run import ReportedRun
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
    with stdout_for_results(), _cancel_on_signals(run, display), display or nullcontext():
        for record in run.attempts():
            if display is not None:
                display.add(record)


def _cancel_on_signals(run: "Run", display: "RunDisplay | None") -> AbstractContextManager[None]:
    """First Ctrl-C (or SIGTERM): stop cleanly. Second: at once."""
    pressed: list[float] = []

    def stop(number: int) -> None:
        """Ask the run to stop."""
        pressed.append(time.monotonic())
        if len(pressed) > 1:
            if display is not None:
                display.give_back()
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        line = (
            "Stopping. Running attempts will be marked as interrupted (Ctrl-C again: stop at once)"
        )
        if display is None:
            typer.echo(line, err=True)
        else:
            display.notice(line)
        run.cancel()

    return handling_signals(stop)


def execute_run(
    run: "Run", *, as_json: bool, quiet: bool, verbose: bool, fail_under: float | None = None
) -> None:
    """Make a run's attempts, print the results of the whole run, and exit with its code."""
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.summary import ResultSummary, summary_line

    print_warnings(run.warnings)
    started = time.monotonic()
    follow_run(run, quiet=quiet, verbose=verbose)
    seconds = time.monotonic() - started
    reported = ReportedRun.read(run.store.folder, whole=as_json, processes=available_cpus())
    attempts = reported.attempts
    summary = ResultSummary.of(attempts)
    if as_json:
        _print_json(run, reported)
    elif not quiet:
        from agentbench.report.formats import print_table
        from agentbench.report.text_table import console_of

        print_table(attempts, console_of(sys.stdout))
    folder = str(run.store.folder)
    typer.echo(summary_line(summary, seconds=seconds, folder=folder), err=True)
    if run.resources.cancel.is_set():
        typer.echo(f"continue with: agentbench resume {folder}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED)
    _check_complete(run, len(attempts))
    if run.has_reached_max_failures:
        raise typer.Exit(ExitCode.CHECK_FAILED)
    if summary.infrastructure:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)
    if attempts and not summary.judged.total:
        typer.echo(
            "no attempt was judged: each failed by the fault of its task; `agentbench validate` "
            "checks the tasks",
            err=True,
        )
        raise typer.Exit(ExitCode.INPUT)
    _check_resolved_rate(summary.overall.share, fail_under, attempts)


def _check_resolved_rate(
    share: float, fail_under: float | None, attempts: "list[AttemptSummary]"
) -> None:
    from agentbench.report.summary import common_agent_error

    is_below = fail_under is not None and share < fail_under
    if is_below:
        typer.echo(f"the resolved rate {share:.3f} is below --fail-under {fail_under}", err=True)
    error = common_agent_error(attempts)
    if error is not None:
        typer.echo(error, err=True)
    if is_below:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print_json(run: "Run", reported: "ReportedRun") -> None:
    from dataclasses import replace

    from agentbench.report.formats import json_chunks
    from agentbench.report.leaderboard import results_by_agent

    entrant = replace(reported.entrant, name=run.configuration.run_id)
    sys.stdout.writelines(json_chunks(results_by_agent([entrant]), reported.records()))


def _check_complete(run: "Run", recorded: int) -> None:
    planned = run.configuration.planned_attempts
    why = "--max-cost is spent"
    if run.has_reached_max_failures:
        limit = run.configuration.max_failures
        why = f"{counted(run.failures, 'attempt')} failed (--max-failures {limit})"
    if recorded < planned:
        typer.echo(
            f"{planned - recorded} of {planned} attempts were not started: {why}; continue with: "
            f"agentbench resume {run.store.folder}",
            err=True,
        )
    elif run.has_reached_max_failures:
        typer.echo(why, err=True)
