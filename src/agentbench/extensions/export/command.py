"""`agentbench export`: the attempts of runs as a data set for training."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import completion, options
from agentbench.cli.report import without_duplicates
from agentbench.cli.run_execution import print_warnings, say_line
from agentbench.core import extras, host
from agentbench.core.display_text import counted
from agentbench.extensions.export.option_values import ExportFormat, VerdictKind
from agentbench.judge.reward_kind import RewardKind
from agentbench.taxonomy import FailureReason, Fault

_FILTERS = "Filters"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetOptions:
    """The data set to write."""

    format_name: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            help="atif: trajectories; sft: chats; preference: pairs of chats; parquet: a table.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ]
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder of the data set.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ]
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace an earlier export in the folder.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = False
    license_id: Annotated[
        str | None,
        typer.Option(
            "--license",
            help="The license of the data set, by its id on the Hugging Face Hub.",
            metavar="ID",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = None
    test_names: Annotated[
        bool,
        typer.Option(
            "--test-names",
            help="With --format parquet: also export the names and outcomes of tests, hidden ones "
            "included.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = False
    reward: Annotated[
        RewardKind,
        typer.Option(
            "--reward",
            help="resolved: 1 or 0; fixed-share: a share for tests that were fixed.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = RewardKind.RESOLVED
    pairs_per_task: Annotated[
        int,
        typer.Option(
            "--pairs-per-task",
            help="With --format preference: the most pairs of each task.",
            min=1,
            max=1_000_000,
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = 4
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            help="With --format preference: the seed that the pairs are drawn with.",
            rich_help_panel=options.Panel.OUTPUT,
        ),
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFilters:
    """Selects some of the attempts."""

    verdicts: Annotated[
        list[VerdictKind] | None,
        typer.Option(
            "--verdict",
            help="Only attempts with this verdict (repeatable); default: all; of sft: resolved.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    reasons: Annotated[
        list[FailureReason] | None,
        typer.Option(
            "--reason",
            help="Of attempts that are not resolved, only those with this reason (repeatable).",
            autocompletion=completion.failure_reasons,
            rich_help_panel=_FILTERS,
        ),
    ] = None
    faults: Annotated[
        list[Fault] | None,
        typer.Option(
            "--fault",
            help="Of attempts that are not resolved, only those by this fault (repeatable).",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    filter_glob: Annotated[
        str | None,
        typer.Option(
            "--filter",
            help="Only tasks whose ids match this glob.",
            autocompletion=completion.task_ids,
            rich_help_panel=_FILTERS,
        ),
    ] = None
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            help="Only agents whose names match this glob.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Only models whose names match this glob.",
            rich_help_panel=_FILTERS,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakCheckOptions:
    """The tasks that rows are checked against."""

    task_paths: Annotated[
        list[Path] | None,
        typer.Option(
            "--tasks",
            help="Where the tasks are now: task folders, folders of them, or suite files "
            "(repeatable); default: where the run found them.",
            metavar="PATH",
            rich_help_panel=options.Panel.TASKS,
        ),
    ] = None
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked",
            help="Also export attempts whose tasks cannot be read, without the check for leaks.",
            rich_help_panel=options.Panel.TASKS,
        ),
    ] = False


@options.expand_groups
def export(
    runs: options.RunNames = None,
    *,
    written: DataSetOptions,
    filters: AttemptFilters,
    checked: LeakCheckOptions,
    runs_dir: options.RunsDir = Path("runs"),
) -> None:
    """Export attempts as a data set for training, as the Hugging Face Hub stores it.

    Attempts with text of hidden tests, or with a solution that the agent did not write, are left
    out. For that, the tasks of the attempts must be readable.

    Example: agentbench export last --format sft --output chats

    Example: agentbench export mine other --format preference --output pairs --seed 7
    """
    from agentbench.extensions.export.data_set import DataSetExport
    from agentbench.extensions.export.selection import Selection, verdicts_for
    from agentbench.extensions.export.settings import ExportOptions
    from agentbench.extensions.export.sources import SourceRun, TaskSources
    from agentbench.runs.store.store import find_run
    from agentbench.tasks.loading import load_tasks
    from agentbench.tasks.mirror import Mirrors

    if written.format_name is ExportFormat.PARQUET:
        extras.require("--format parquet", extras.PARQUET)
    selection = Selection(
        verdicts=verdicts_for(written.format_name, frozenset(filters.verdicts or ())),
        reasons=frozenset(filters.reasons or ()),
        faults=frozenset(filters.faults or ()),
        task=filters.filter_glob,
        agent=filters.agent,
        model=filters.model,
    )
    folders = without_duplicates([find_run(name, runs_dir) for name in runs or ["last"]])
    found = [SourceRun.open(folder) for folder in folders]
    for run in found:
        print_warnings(run.warnings())
    paths = checked.task_paths or ()
    mirrors = Mirrors(host.usable_cache_dir() / "mirrors")
    named = load_tasks(paths, mirrors=mirrors).tasks if paths else ()
    exported = DataSetExport(
        found,
        TaskSources(mirrors=mirrors, named={task.digest: task for task in named}),
        ExportOptions(
            format=written.format_name,
            selection=selection,
            reward=written.reward,
            unchecked=checked.unchecked,
            test_names=written.test_names,
            pairs_per_task=written.pairs_per_task,
            seed=written.seed,
            license=written.license_id,
            overwrite=written.overwrite,
        ),
        os.environ,
    )
    counts = exported.write(written.output, datetime.now(UTC))
    for line in exported.left_out():
        say_line(line)
    if counts.unchecked:
        print_warnings([f"{counted(counts.unchecked, 'row')} not checked for leaks"])
    say_line(f"{counted(counts.rows, 'row')} in {written.output}")
