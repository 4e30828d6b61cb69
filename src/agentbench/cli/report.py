"""`agentbench report`."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options

if TYPE_CHECKING:
    from agentbench.runs.headline import Headline


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
    from agentbench.report.summary import Summary, summary_line
    from agentbench.runs.store import find_run

    del debug  # read by the program itself
    folders = [find_run(name, runs_dir) for name in runs or ["last"]]
    if format_name is FormatName.JSON:
        _print_json(folders)
        return
    attempts = [attempt for folder in folders for attempt in _latest(folder)]
    _print(attempts, format_name)
    if format_name is FormatName.TABLE:
        summary = Summary.of(attempts)
        shown = " ".join(map(str, folders))
        typer.echo(summary_line(summary, seconds=summary.attempt_seconds, folder=shown), err=True)


def _latest(folder: Path) -> "list[Headline]":
    from agentbench.runs.host import available_cpus
    from agentbench.runs.store import RunStore

    reading = RunStore.open(folder).reading(processes=available_cpus())
    _warn(reading.warnings())
    return [reading.headlines[number] for number in reading.latest()]


def _print(attempts: "Sequence[Headline]", format_name: FormatName) -> None:
    from rich.console import Console

    from agentbench.report.formats import csv_pieces, markdown_pieces, print_table
    from agentbench.report.rows import in_order

    match format_name:
        case FormatName.CSV:
            sys.stdout.writelines(csv_pieces(in_order(attempts)))
        case FormatName.MARKDOWN:
            sys.stdout.writelines(markdown_pieces(in_order(attempts)))
        case _:
            print_table(attempts, Console())


def _print_json(folders: Sequence[Path]) -> None:
    from agentbench.report.formats import json_pieces
    from agentbench.report.summary import Summary
    from agentbench.runs.store import RunStore

    readings = [RunStore.open(folder).reading(whole=True) for folder in folders]
    for reading in readings:
        _warn(reading.warnings())
    latest = [(reading, reading.latest()) for reading in readings]
    told = (reading.headlines[number] for reading, numbers in latest for number in numbers)
    records = (record for reading, numbers in latest for record in reading.records(numbers))
    sys.stdout.writelines(json_pieces(Summary.of(told), records))


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
