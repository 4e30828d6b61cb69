"""How a run ends for whoever started it: the table, the last line, the exit code."""

import sys
import time
from typing import TYPE_CHECKING

import typer

from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.progress import follow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentbench.runs.headline import Headline
    from agentbench.runs.record import AttemptRecord
    from agentbench.runs.run import Run


def carry_out(
    run: "Run", *, as_json: bool, quiet: bool, verbose: bool, fail_under: float | None = None
) -> None:
    """Make a run's attempts, show what came of the whole run, and exit with its code."""
    from agentbench.report.summary import Summary, summary_line
    from agentbench.runs.host import available_cpus

    for warning in run.warnings:
        typer.echo(f"warning: {warning}", err=True)
    started = time.monotonic()
    follow(run, quiet=quiet, verbose=verbose)
    seconds = time.monotonic() - started
    reading = run.store.reading(whole=as_json, processes=available_cpus())
    latest = reading.latest()
    attempts = [reading.headlines[number] for number in latest]
    summary = Summary.of(attempts)
    if as_json:
        _print_json(run, attempts, reading.records(latest))
    elif not quiet:
        from agentbench.report.formats import print_table
        from agentbench.report.text_table import console_of

        print_table(attempts, console_of(sys.stdout))
    folder = str(run.store.folder)
    typer.echo(summary_line(summary, seconds=seconds, folder=folder), err=True)
    if run.workshop.cancel.is_set():
        typer.echo(f"go on with: agentbench resume {folder}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED)
    _check_complete(run, len(attempts))
    if summary.infrastructure:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)
    _check_rate(summary.overall.share, fail_under, attempts)


def _check_rate(share: float, fail_under: float | None, attempts: "list[Headline]") -> None:
    from agentbench.report.agent_errors import common_agent_error

    is_below = fail_under is not None and share < fail_under
    if is_below:
        typer.echo(f"the resolved rate {share:.3f} is below --fail-under {fail_under}", err=True)
    error = common_agent_error(attempts)
    if error is not None:
        typer.echo(error, err=True)
    if is_below:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print_json(
    run: "Run", attempts: "Sequence[Headline]", records: "Iterable[AttemptRecord]"
) -> None:
    from agentbench.report.agent_results import results_by_agent
    from agentbench.report.formats import json_pieces
    from agentbench.report.leaderboard import Entrant

    asked = run.configuration
    entrant = Entrant(
        name=asked.run_id,
        attempts=attempts,
        agent_command=asked.agent_command,
        base_url=asked.base_url,
    )
    sys.stdout.writelines(json_pieces(results_by_agent([entrant]), records))


def _check_complete(run: "Run", made: int) -> None:
    planned = len(run.configuration.tasks) * run.configuration.attempts
    if made < planned:
        typer.echo(
            f"{planned - made} of {planned} attempts were not started: --max-cost "
            f"is spent; go on with: agentbench resume {run.store.folder}",
            err=True,
        )
