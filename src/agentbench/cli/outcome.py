"""How a run ends for whoever started it: the table, the last line, the exit code."""

import json
import time
from typing import TYPE_CHECKING

import typer

from agentbench.cli.exit_codes import ExitCode
from agentbench.cli.progress import follow

if TYPE_CHECKING:
    from agentbench.runs.record import AttemptRecord
    from agentbench.runs.run import Run


def carry_out(
    run: "Run", *, as_json: bool, quiet: bool, verbose: bool, fail_under: float | None = None
) -> None:
    """Make a run's attempts, show what came of the whole run, and exit with its code."""
    from agentbench.report.summary import Summary, summary_line

    for warning in run.warnings:
        typer.echo(f"warning: {warning}", err=True)
    started = time.monotonic()
    follow(run, quiet=quiet, verbose=verbose)
    seconds = time.monotonic() - started
    records = list(run.store.latest().records)
    summary = Summary.of(records)
    _show(records, as_json=as_json, quiet=quiet)
    folder = str(run.store.folder)
    typer.echo(summary_line(summary, seconds=seconds, folder=folder), err=True)
    if run.workshop.cancel.is_set():
        typer.echo(f"go on with: agentbench resume {folder}", err=True)
        raise typer.Exit(ExitCode.INTERRUPTED)
    _check_complete(run, records)
    if summary.infrastructure:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)
    if fail_under is not None and summary.overall.share < fail_under:
        share = f"{summary.overall.share:.3f}"
        typer.echo(f"the resolved rate {share} is below --fail-under {fail_under}", err=True)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _check_complete(run: "Run", records: "list[AttemptRecord]") -> None:
    planned = len(run.configuration.tasks) * run.configuration.attempts
    if len(records) < planned:
        typer.echo(
            f"{planned - len(records)} of {planned} attempts were not started: --max-cost "
            f"is spent; go on with: agentbench resume {run.store.folder}",
            err=True,
        )


def _show(records: "list[AttemptRecord]", *, as_json: bool, quiet: bool) -> None:
    from rich.console import Console

    from agentbench.report.formats import document, print_table

    if as_json:
        typer.echo(json.dumps(document(records), indent=1))
    elif not quiet:
        print_table(records, Console())
