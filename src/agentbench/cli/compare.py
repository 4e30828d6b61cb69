"""`agentbench compare`."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import completion, options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.report import append_github_summary
from agentbench.cli.run_execution import print_warnings
from agentbench.core import extras
from agentbench.core.display_text import list_with_more, printable
from agentbench.core.extensions import Slot, load_offer
from agentbench.errors import UsageError

_MAX_NAMED = 10  # tasks that a warning names
_First = Annotated[
    str,
    typer.Argument(
        metavar="RUN_A",
        help="The run to compare with: its folder, its id, or 'last'.",
        autocompletion=completion.run_names,
    ),
]
_Second = Annotated[
    str,
    typer.Argument(
        metavar="RUN_B",
        help="The run that may be better or worse.",
        autocompletion=completion.run_names,
    ),
]
_FailOnRegression = Annotated[
    bool,
    typer.Option(
        "--fail-on-regression",
        help="Exit 1 if the second run is worse by a statistically significant difference.",
    ),
]
_Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="With --fail-on-regression: exit 1 if a single task became worse."
    ),
]
_Alpha = Annotated[
    float,
    typer.Option(
        "--alpha",
        help="A p value below this level is statistically significant; intervals cover 1 - alpha.",
    ),
]


class ComparisonFormat(StrEnum):
    """The values of `--format`."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    first: _First,
    second: _Second,
    format_name: Annotated[
        ComparisonFormat, typer.Option("--format", help="The output format.")
    ] = ComparisonFormat.TABLE,
    as_json: options.Json = False,
    fail_on_regression: _FailOnRegression = False,
    strict: _Strict = False,
    alpha: _Alpha = 0.05,
    behaviour: options.WithBehaviour = False,
    exclude_unfair: options.ExcludeUnfair = False,
    github_summary: options.GithubSummary = False,
    runs_dir: options.RunsDir = Path("runs"),
) -> None:
    """Compare two runs at the same tasks: which flipped, and whether that is significant.

    Example: agentbench compare main last --fail-on-regression
    """
    from agentbench.report.comparison import compare as compared
    from agentbench.report.comparison import doubts, regression
    from agentbench.report.json_documents import ComparisonDocument
    from agentbench.report.leaderboard import label_runs
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.text_reports import (
        RunNames,
        check_summary,
        comparison_markdown,
        print_comparison,
    )
    from agentbench.report.text_table import console_of
    from agentbench.report.unfair_tasks import rates_of_comparison
    from agentbench.runs.store.store import find_run
    from agentbench.validation.task_quality import qualities_of_runs

    if behaviour and (as_json or format_name is not ComparisonFormat.TABLE):
        raise UsageError("--behaviour is for tables; use agentbench behaviour RUN_A RUN_B --json")
    if exclude_unfair and (as_json or format_name is ComparisonFormat.JSON):
        raise UsageError("--exclude-unfair is for the table and --format markdown")
    if github_summary:
        check_summary(os.environ)
    if as_json and format_name is ComparisonFormat.MARKDOWN:
        raise UsageError("--json and --format markdown contradict each other")
    # `alpha <= 0 or alpha >= 1` would accept NaN: a gate that can never fall is none.
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha must be between 0 and 1, found {alpha}")
    extras.require("agentbench compare", extras.STATISTICS)
    folders = [find_run(name, runs_dir) for name in (first, second)]
    if folders[0].resolve() == folders[1].resolve():
        print_warnings([f"{folders[0]}: compared with itself"])
    one, other = (ReportedRun.read(folder) for folder in folders)
    print_warnings(dict.fromkeys((*one.warnings(), *other.warnings())))
    comparison = compared(one.attempts, other.attempts, alpha=alpha)
    # A run with another Python, or with changed tasks, may differ although the agent does not.
    interpreters = [f"{e.task_id} ({e.first} → {e.second})" for e in comparison.interpreters]
    changes = {
        "not the same task in both runs, by its digest": comparison.changed,
        "not the same Python or image in both runs": interpreters,
    }
    print_warnings(
        printable(f"{what}: {list_with_more(tasks, _MAX_NAMED)}")
        for what, tasks in changes.items()
        if tasks
    )
    names = RunNames(*label_runs([one.entrant, other.entrant]))
    rates = None
    if exclude_unfair:
        qualities = qualities_of_runs([one, other])
        rates = rates_of_comparison(one.attempts, other.attempts, qualities, names, alpha=alpha)
    markdown = [
        *comparison_markdown(comparison, names),
        *(rates.markdown() if rates is not None else ()),
    ]
    match ComparisonFormat.JSON if as_json else format_name:
        case ComparisonFormat.JSON:
            typer.echo(ComparisonDocument.of(comparison, names).model_dump_json(indent=1))
        case ComparisonFormat.MARKDOWN:
            sys.stdout.writelines(markdown)
        case ComparisonFormat.TABLE:
            print_comparison(comparison, names, console_of(sys.stdout))
            if rates is not None:
                rates.print(console_of(sys.stdout))
    if behaviour:
        typer.echo()
        load_offer(Slot.BEHAVIOUR, "differences", "--behaviour")(*folders)
    if github_summary:
        append_github_summary(markdown)
    if fail_on_regression:
        found = regression(comparison, strict=strict)
        if found is not None:
            typer.echo(found, err=True)
            raise typer.Exit(ExitCode.CHECK_FAILED)
        print_warnings(doubts(comparison, strict=strict))
