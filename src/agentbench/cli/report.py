"""`agentbench report`: runs in every format, printed or written to a file.

The file is written completely or not at all.
"""

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TextIO

import typer

from agentbench.cli import options
from agentbench.cli.run_execution import print_warnings
from agentbench.core import extras, files
from agentbench.core.display_text import printable
from agentbench.core.extensions import Slot, load_offer, offers
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from agentbench.report.leaderboard import AgentResult, Leaderboard
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.unfair_tasks import RatesTable, TaskQualities
    from agentbench.runs.store.summaries import AttemptSummary


class ReportFormat(StrEnum):
    """The values of `--format` that are no extension's."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    PARQUET = "parquet"


WriteReport = Callable[["Sequence[ReportedRun]", TextIO], None]
"""A row of `Slot.REPORT_FORMAT`: writes runs in a format."""
WriteFolder = Callable[["Sequence[ReportedRun]", Path], None]
"""A row of `Slot.REPORT_FOLDER`: what `--instances` writes with this `--format`."""

_WITH_LEADERBOARD = frozenset({ReportFormat.TABLE, ReportFormat.JSON, ReportFormat.MARKDOWN})

_WITH_QUALITIES = frozenset({ReportFormat.TABLE, ReportFormat.MARKDOWN})

_EXTRAS = {
    ReportFormat.JUNIT: extras.JUNIT,
    ReportFormat.PARQUET: extras.PARQUET,
}


def format_names() -> list[str]:
    """The values of `--format`: ours, then those of extensions."""
    return [*map(str, ReportFormat), *offers(Slot.REPORT_FORMAT)]


def _known_format(name: str) -> str:
    # An enum would refuse other values by itself, but mypy knows none that is made from a table.
    if name not in format_names():
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, format_names()))}")
    return name


def report(
    runs: options.RunNames = None,
    format_name: Annotated[
        str,
        options.output_option(
            "--format",
            help="The output format.",
            parser=_known_format,
            metavar=f"[{'|'.join(format_names())}]",
            autocompletion=format_names,
        ),
    ] = ReportFormat.TABLE,
    output: Annotated[
        Path | None,
        options.output_option("--output", "-o", help="The output file; default: stdout."),
    ] = None,
    instances_dir: Annotated[
        Path | None,
        options.output_option(
            "--instances", help="With --format swebench: a folder for each instance's report."
        ),
    ] = None,
    behaviour: options.WithBehaviour = False,
    exclude_unfair: options.ExcludeUnfair = False,
    github_summary: options.GithubSummary = False,
    runs_dir: options.RunsDir = Path("runs"),
) -> None:
    """Report on runs: a row per attempt, rates with intervals, and a leaderboard of several.

    HTML is one page that needs no network and no other files; swebench is the
    report that SWE-bench's own tool writes; predictions are the patches as SWE-bench reads them,
    for its tool, or for `--agent predictions:FILE`; parquet is one data set of whole records.

    Example: agentbench report last --format html --output report.html
    """
    from agentbench.report.leaderboard import leaderboard as ranked
    from agentbench.report.leaderboard import results_by_agent
    from agentbench.report.reported_run import ReportedRun
    from agentbench.runs.store.store import find_run
    from agentbench.validation.task_quality import qualities_of_runs

    write_added: WriteReport | None = None
    print_counts = load_offer(Slot.BEHAVIOUR, "counts", "--behaviour") if behaviour else None
    if behaviour and format_name in offers(Slot.REPORT_WITH_BEHAVIOUR):
        write_added = offers(Slot.REPORT_WITH_BEHAVIOUR)[format_name].load()
    elif (row := offers(Slot.REPORT_FORMAT).get(format_name)) is not None:
        write_added = row.load()
    elif (needed := _EXTRAS.get(ReportFormat(format_name))) is not None:
        extras.require(f"--format {format_name}", needed)
    if format_name == ReportFormat.PARQUET and output is None and sys.stdout.isatty():
        raise UsageError("--format parquet: expected a file, found a terminal; add -o FILE.parquet")
    if github_summary:
        from agentbench.report.text_reports import check_summary

        check_summary(os.environ)
    is_printed = format_name == ReportFormat.TABLE and output is None
    if behaviour and not is_printed and format_name not in offers(Slot.REPORT_WITH_BEHAVIOUR):
        raise UsageError(
            "--behaviour is for the table and HTML; use agentbench behaviour RUN --json"
        )
    if exclude_unfair and format_name not in _WITH_QUALITIES:
        raise UsageError("--exclude-unfair is for the table and --format markdown")
    if instances_dir is not None and instances_dir.exists() and not instances_dir.is_dir():
        raise UsageError(f"--instances: {instances_dir}: expected a folder, found a file")
    folders = without_duplicates([find_run(name, runs_dir) for name in runs or ["last"]])
    read = [ReportedRun.read(folder) for folder in folders]
    for run in read:
        print_warnings(run.warnings())
    leaderboard = None
    if len(read) > 1 and (format_name in _WITH_LEADERBOARD or github_summary):
        with_groups = extras.is_installed(extras.STATISTICS)
        if not with_groups:
            install = extras.install_command("report")
            typer.echo(f"no groups in the leaderboard: {install}", err=True)
        leaderboard = ranked([run.entrant for run in read], with_groups=with_groups)
    attempts = [attempt for run in read for attempt in run.attempts]
    results = results_by_agent([run.entrant for run in read])
    qualities = qualities_of_runs(read) if format_name in _WITH_QUALITIES else None
    contents = _ReportContents(
        read, attempts, results, leaderboard, qualities, exclude_unfair=exclude_unfair
    )
    with open_output(output) as target:
        if write_added is not None:
            write_added(read, target)
        else:
            _print(contents, ReportFormat(format_name), target)
    if print_counts is not None and is_printed:
        for folder in folders:
            typer.echo()
            print_counts(folder)
    if instances_dir is not None:
        write_folder: WriteFolder = offers(Slot.REPORT_FOLDER)[format_name].load()
        write_folder(read, instances_dir)
    if github_summary:
        append_github_summary(_markdown(contents))


def without_duplicates(folders: Sequence[Path]) -> list[Path]:
    """Each folder once, even if it was named several times."""
    named: dict[Path, Path] = {}
    for folder in folders:
        named.setdefault(folder.resolve(), folder)
    if len(named) < len(folders):
        typer.echo("warning: a run that is named more than once is reported once", err=True)
    return list(named.values())


class _ReportContents(NamedTuple):
    runs: "Sequence[ReportedRun]"
    attempts: "Sequence[AttemptSummary]"
    results: "Sequence[AgentResult]"
    leaderboard: "Leaderboard | None"
    qualities: "TaskQualities | None"  # None: the format does not show them
    exclude_unfair: bool

    def rates_table(self) -> "RatesTable | None":
        """The rates with and without unfair tasks, if they are asked for."""
        from agentbench.report.leaderboard import label_runs
        from agentbench.report.unfair_tasks import rates_of_runs

        if self.qualities is None or not self.exclude_unfair:
            return None
        labels = label_runs([run.entrant for run in self.runs])
        attempts = (run.attempts for run in self.runs)
        return rates_of_runs(dict(zip(labels, attempts, strict=True)), self.qualities)


def _print(report: _ReportContents, format_name: ReportFormat, target: TextIO) -> None:
    from agentbench.report import formats
    from agentbench.report.attempt_columns import in_order

    match format_name:
        case ReportFormat.TABLE:
            _print_table(report, target)
        case ReportFormat.JSON:
            records = chain.from_iterable(run.records() for run in report.runs)
            target.writelines(formats.json_chunks(report.results, records, report.leaderboard))
        case ReportFormat.CSV:
            target.writelines(formats.csv_lines(in_order(report.attempts)))
        case ReportFormat.MARKDOWN:
            target.writelines(_markdown(report))
        case ReportFormat.JUNIT:
            from agentbench.report.leaderboard import label_runs

            suites = []
            labels = label_runs([run.entrant for run in report.runs])
            for run, label in zip(report.runs, labels, strict=True):
                unmade = []
                try:
                    unmade = run.unmade()
                except InputError as error:
                    print_warnings([str(error)])
                suites.append(
                    formats.JUnitSuite(
                        label=label,
                        attempts=in_order(run.attempts),
                        unmade=unmade,
                        folder=str(run.folder),
                        cause_of=run.cause_finder(),
                    )
                )
            target.writelines(formats.junit_lines(suites))
        case ReportFormat.PARQUET:
            from agentbench.report.data_set import write_parquet

            write_parquet(report.runs, target.buffer)


def _print_table(report: _ReportContents, target: TextIO) -> None:
    from agentbench.report import formats, text_reports, text_table
    from agentbench.report.summary import summary_line

    console = text_table.console_of(target)
    if report.leaderboard is not None:
        text_reports.print_leaderboard(report.leaderboard, console)
    formats.print_table(report.attempts, console)
    are_several = len(report.results) > 1
    for result in report.results:
        title = result.label if are_several else ""
        text_reports.print_summary(result.summary, console, title=title)
    if (rates := report.rates_table()) is not None:
        rates.print(console)
    if report.qualities is not None and report.qualities.is_known:
        console.print()
        text_table.print_text(report.qualities.counts_text(), console)
    for result in report.results:
        summary = result.summary
        # One line for each agent, model and task set: there is no rate over different ones.
        folders = [str(run.folder) for run in report.runs if run.entrant.name in result.runs]
        line = summary_line(summary, seconds=summary.attempt_seconds, folder=" ".join(folders))
        typer.echo(f"{printable(result.label)}: {line}" if are_several else line, err=True)


def _markdown(report: _ReportContents) -> Iterator[str]:
    from agentbench.report.attempt_columns import in_order
    from agentbench.report.text_reports import (
        causes_markdown,
        escaped,
        leaderboard_markdown,
        report_markdown,
    )

    if report.leaderboard is not None:
        yield from leaderboard_markdown(report.leaderboard)
    if (rates := report.rates_table()) is not None:
        yield from rates.markdown()
    for run in report.runs:
        if (unfinished := run.unfinished_text()) is not None:
            yield f"{escaped(f'{run.folder.name}: {unfinished}')}\n\n"
    if report.qualities is not None and report.qualities.is_known:
        yield f"{escaped(report.qualities.counts_text())}\n\n"
    yield from report_markdown(report.results, in_order(report.attempts))
    for run in report.runs:
        failed = [attempt for attempt in in_order(run.attempts) if not attempt.resolved]
        yield from causes_markdown(failed, run.cause_finder())


def append_github_summary(chunks: Iterable[str]) -> None:
    """Append Markdown to the job's summary in GitHub Actions."""
    from agentbench.report.text_reports import append_summary

    if not append_summary(chunks, os.environ):
        typer.echo("warning: the job's summary holds 1 MiB and was cut", err=True)


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """A text file that gets its name once it is complete; stdout if no path is given.

    Raises:
        UsageError: it cannot be written.
    """
    if path is None:
        yield sys.stdout
        return
    # A device, or a pipe with a reader, cannot be replaced.
    is_special = path.exists() and not path.is_file()
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}{files.UNFINISHED}")
    try:
        target = (path if is_special else scratch).open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise _not_writable(path, error) from error
    try:
        with target:
            yield target
        if not is_special:
            scratch.replace(path)
    except BaseException as error:
        with suppress(OSError):
            scratch.unlink()
        # Other errors in the block do not concern this file.
        if isinstance(error, OSError) and error.errno in files.DISK_FULL_ERRORS:
            raise _not_writable(path, error) from error
        raise


def _not_writable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written ({error.strerror}); choose another --output")
