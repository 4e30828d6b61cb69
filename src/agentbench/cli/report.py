"""`agentbench report`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


class FormatName(StrEnum):
    """What `--format` takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def report(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs' folders or ids; default: the last run.")
    ] = None,
    format_name: Annotated[
        FormatName, typer.Option("--format", help="How to print it.")
    ] = FormatName.TABLE,
    runs_dir: options.RunsDir = Path("runs"),
    debug: options.Debug = False,
) -> None:
    """Report on runs: a row per attempt, and the resolved rate with its interval.

    Example: agentbench report last --format markdown
    """
    from rich.console import Console

    from agentbench.report.formats import Format, print_table, render
    from agentbench.report.summary import Summary, summary_line
    from agentbench.runs.store import RunStore, find_run

    del debug  # read by the program itself
    folders = [find_run(name, runs_dir) for name in runs or ["last"]]
    reads = [RunStore.open(folder).latest() for folder in folders]
    for warning in (warning for read in reads for warning in read.warnings):
        typer.echo(f"warning: {warning}", err=True)
    records = [record for read in reads for record in read.records]
    if format_name is not FormatName.TABLE:
        typer.echo(render(records, Format(format_name.value)), nl=False)
        return
    print_table(records, Console())
    summary = Summary.of(records)
    shown = " ".join(map(str, folders))
    typer.echo(summary_line(summary, seconds=summary.attempt_seconds, folder=shown), err=True)
