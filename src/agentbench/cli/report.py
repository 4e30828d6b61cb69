"""`agentbench report`."""

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TextIO

import typer

from agentbench.cli import options
from agentbench.cli.output_file import writing_to
from agentbench.cli.swebench_report import write_instances, write_swebench
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from agentbench.report.agent_results import AgentResult
    from agentbench.report.junit import Suite
    from agentbench.report.leaderboard import Leaderboard
    from agentbench.report.reported_run import ReportedRun
    from agentbench.runs.headline import Headline


class FormatName(StrEnum):
    """What `--format` takes."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    HTML = "html"
    SWEBENCH = "swebench"


_WITHOUT_BOARD = frozenset(  # or its own one
    {FormatName.CSV, FormatName.JUNIT, FormatName.HTML, FormatName.SWEBENCH}
)
_WHOLE = frozenset({FormatName.JSON, FormatName.SWEBENCH})


def report(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs' folders or ids; default: the last run.")
    ] = None,
    format_name: Annotated[
        FormatName, typer.Option("--format", help="How to print it.")
    ] = FormatName.TABLE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file for it; default: stdout.")
    ] = None,
    instances_dir: Annotated[
        Path | None,
        typer.Option("--instances", help="With swebench: a folder for each instance's report."),
    ] = None,
    github_summary: options.GithubSummary = False,
    runs_dir: options.RunsDir = Path("runs"),
    debug: options.Debug = False,
) -> None:
    """Report on runs: a row per attempt, rates with intervals, and a leaderboard of several.

    HTML is one page with pictures that needs no network and nothing beside it; swebench is the
    report that SWE-bench's own tool writes.

    Example: agentbench report last --format html --output report.html
    """
    from agentbench.extras import HTML, JUNIT, require
    from agentbench.report.agent_results import results_by_agent
    from agentbench.runs.store import find_run

    del debug  # read by the program itself
    if format_name is FormatName.JUNIT:
        require("--format junit", JUNIT)
    if format_name is FormatName.HTML:
        require("--format html", HTML)
    if instances_dir is not None and format_name is not FormatName.SWEBENCH:
        raise UsageError("--instances goes with --format swebench")
    folders = _once([find_run(name, runs_dir) for name in runs or ["last"]])
    read = [_read(folder, whole=format_name in _WHOLE) for folder in folders]
    board = _leaderboard(read, format_name, needed=github_summary)
    attempts = [attempt for run in read for attempt in run.attempts]
    results = results_by_agent([run.entrant for run in read])
    with writing_to(output) as target:
        _print(_Report(read, attempts, results, board), format_name, target)
    if instances_dir is not None:
        write_instances(read, instances_dir)
    if github_summary:
        _append_summary(_Report(read, attempts, results, board))


def _once(folders: Sequence[Path]) -> list[Path]:
    """Each folder once, however often it was named."""
    named: dict[Path, Path] = {}
    for folder in folders:
        named.setdefault(folder.resolve(), folder)
    if len(named) < len(folders):
        typer.echo("warning: a run that is named more than once is reported once", err=True)
    return list(named.values())


def _read(folder: Path, *, whole: bool) -> "ReportedRun":
    from agentbench.report.reported_run import ReportedRun
    from agentbench.runs.host import available_cpus

    run = ReportedRun.read(folder, whole=whole, processes=available_cpus())
    for warning in run.reading.warnings():
        typer.echo(f"warning: {warning}", err=True)
    return run


def _leaderboard(
    runs: "Sequence[ReportedRun]", format_name: FormatName, *, needed: bool
) -> "Leaderboard | None":
    """The runs in order, where there are several and what is printed shows them so."""
    from agentbench.distribution import install_command
    from agentbench.extras import STATISTICS, is_there
    from agentbench.report.leaderboard import leaderboard

    if len(runs) == 1 or (format_name in _WITHOUT_BOARD and not needed):
        return None
    with_groups = is_there(STATISTICS)
    if not with_groups:
        typer.echo(f"no groups in the leaderboard: {install_command('report')}", err=True)
    return leaderboard([run.entrant for run in runs], with_groups=with_groups)


class _Report(NamedTuple):
    """Runs, and what there is to say of them."""

    runs: "Sequence[ReportedRun]"
    attempts: "Sequence[Headline]"
    results: "Sequence[AgentResult]"
    board: "Leaderboard | None"


def _print(report: _Report, format_name: FormatName, target: TextIO) -> None:
    from agentbench.report.formats import csv_pieces, json_pieces
    from agentbench.report.rows import in_order

    match format_name:
        case FormatName.TABLE:
            _print_table(report, target)
        case FormatName.JSON:
            records = chain.from_iterable(run.records() for run in report.runs)
            target.writelines(json_pieces(report.results, records, report.board))
        case FormatName.CSV:
            target.writelines(csv_pieces(in_order(report.attempts)))
        case FormatName.MARKDOWN:
            target.writelines(_markdown(report))
        case FormatName.JUNIT:
            from agentbench.report.junit import junit_pieces

            target.writelines(junit_pieces(_suites(report.runs)))
        case FormatName.HTML:
            from agentbench.report.html.page import pieces
            from agentbench.report.html.shown_run import ShownRun

            target.writelines(pieces([ShownRun.of(run) for run in report.runs]))
        case FormatName.SWEBENCH:
            write_swebench(report.runs, target)


def _print_table(report: _Report, target: TextIO) -> None:
    from agentbench.report.formats import print_table
    from agentbench.report.harmless import harmless
    from agentbench.report.leaderboard_text import print_leaderboard
    from agentbench.report.summary import summary_line
    from agentbench.report.summary_text import print_summary
    from agentbench.report.text_table import console_of

    console = console_of(target)
    if report.board is not None:
        print_leaderboard(report.board, console)
    print_table(report.attempts, console)
    are_several = len(report.results) > 1
    for result in report.results:
        print_summary(result.summary, console, title=result.label if are_several else "")
    for result in report.results:
        line = summary_line(
            result.summary,
            seconds=result.summary.attempt_seconds,
            folder=" ".join(
                str(run.folder) for run in report.runs if run.entrant.name in result.runs
            ),
        )
        typer.echo(f"{harmless(result.label)}: {line}" if are_several else line, err=True)


def _markdown(report: _Report) -> Iterator[str]:
    from agentbench.report.leaderboard_text import leaderboard_pieces
    from agentbench.report.markdown import markdown_pieces
    from agentbench.report.rows import in_order

    first = leaderboard_pieces(report.board) if report.board is not None else ()
    return chain(first, markdown_pieces(report.results, in_order(report.attempts)))


def _suites(runs: "Sequence[ReportedRun]") -> "Iterator[Suite]":
    from agentbench.report.junit import Suite
    from agentbench.report.leaderboard import label_runs
    from agentbench.report.rows import in_order

    labels = label_runs([run.entrant for run in runs])
    for run, label in zip(runs, labels, strict=True):
        try:
            unmade = run.unmade()
        except InputError as error:
            typer.echo(f"warning: {error}", err=True)
            unmade = []
        yield Suite(label=label, attempts=in_order(run.attempts), unmade=unmade)


def _append_summary(report: _Report) -> None:
    from agentbench.report.github_summary import append_summary

    if not append_summary(_markdown(report), os.environ):
        typer.echo("warning: the job's summary holds 1 MiB and was cut", err=True)
