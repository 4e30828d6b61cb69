"""`agentbench tasks import swebench`."""

import dataclasses
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line, say_nothing
from agentbench.cli.tasks import validation as validating
from agentbench.core import host
from agentbench.core.files import write_atomically
from agentbench.errors import InputError
from agentbench.extensions.swebench.environment_choice import EnvironmentChoice

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentbench.extensions.swebench.batches import ImportedInstances
    from agentbench.extensions.swebench.environments import EnvironmentDetector, EnvironmentSources
    from agentbench.extensions.swebench.importing import ImportSelection, RowSource
    from agentbench.importers.task_images import TaskImages
    from agentbench.tasks.mirror import Mirrors

_REMEDY = "else give an image with --image-template, or a recipe with another Python with --recipes"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceOptions:
    """The options that select instances and their environments."""

    repos: Annotated[
        Path | None,
        typer.Option(
            "--repos", help="Directory of local clones (owner/name); others are cloned from GitHub."
        ),
    ] = None
    recipes: Annotated[
        list[Path] | None,
        typer.Option(
            "--recipes", help="A TOML file of set-ups, with priority over the built-in ones."
        ),
    ] = None
    image_template: Annotated[
        str | None,
        typer.Option(
            "--image-template",
            help="Instance images to use; with {instance_id}, {hub_id}, {gym_id}, {repo}, {image}.",
        ),
    ] = None
    instance: Annotated[
        list[str] | None,
        typer.Option(
            "--instance", help="Only instances with this id or pattern, for example 'django__*'."
        ),
    ] = None
    detect: Annotated[
        bool,
        typer.Option(
            "--detect", help="Find the set-up of instances without a recipe or an image by trying."
        ),
    ] = False
    environment: Annotated[
        EnvironmentChoice,
        typer.Option(
            "--environment",
            help="auto: an instance's image if it is available, else a recipe; images or recipes: "
            "only these.",
        ),
    ] = EnvironmentChoice.AUTO
    limit: options.Limit = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """The part of a data set on the Hugging Face Hub."""

    split: Annotated[
        str | None, typer.Option("--split", help="Split of the data set; default: test.")
    ] = None
    config: Annotated[
        str | None, typer.Option("--config", help="Configuration of the data set.")
    ] = None
    revision: Annotated[
        str | None,
        typer.Option("--revision", help="Commit, tag or branch of the data set; default: main."),
    ] = None


@options.expand_groups
def import_swebench(
    source: Annotated[
        str,
        typer.Argument(
            help="A .jsonl, .json or .parquet file of instances, or the owner/name of a data set "
            "on the Hugging Face Hub."
        ),
    ],
    out: options.Out = Path("tasks"),
    *,
    instances: InstanceOptions,
    hub: HubOptions,
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", help="Write the result for each instance to this file, as Markdown."
        ),
    ] = None,
    validation: options.ValidationOptions,
) -> None:
    """Make tasks of SWE-bench's instances, or of SWE-rebench's, SWE-Gym's or SWE-smith's.

    To continue an interrupted import, run the same command again.

    Example: agentbench tasks import swebench SWE-bench/SWE-bench_Verified --limit 5
    """
    options.refuse_report_path(report)
    rows, dataset = rows_of(source, hub, quiet=validation.quiet)
    # An import takes hours: a file that cannot be read is found before anything else.
    next(rows.rows(), None)
    if instances.repos is not None and not instances.repos.is_dir():
        raise typer.BadParameter(f"{instances.repos} is not a folder", param_hint="--repos")
    results = import_rows(
        rows,
        instances,
        validation,
        out=out,
        dataset=dataset,
        replace=replace,
        prove=not no_prove,
        report=report,
    )
    proven = list(results.proven.values()) or None
    as_json = validation.as_json
    validating.print_result(results.rejections, results.written, proven, as_json=as_json)


def import_rows(
    rows: "RowSource",
    instances: InstanceOptions,
    validation: options.ValidationOptions,
    *,
    out: Path,
    dataset: str,
    replace: bool = False,
    prove: bool = True,
    report: Path | None = None,
    announce: "Callable[[ImportSelection, Mirrors, TaskImages], None] | None" = None,
) -> "ImportedInstances":
    """Import the selected rows; prints the progress on stderr.

    Args:
        rows: The rows.
        instances: Which of them, and their environments.
        validation: How they are validated.
        out: The folder for the tasks.
        dataset: The data set of the Hub with its commit; "" for a file.
        replace: Whether existing tasks are replaced.
        prove: Whether they are validated.
        report: The file for the result of each instance.
        announce: Called before the import of rows that are validated.

    Raises:
        InputError: the rows cannot be read.
        UsageError: an option is wrong, or a folder cannot be written.
        UnavailableError: no sandbox is available, or a disk is full.
        Exit: the import was interrupted.
    """
    from agentbench.extensions.swebench.batches import BatchImport, ImportProof
    from agentbench.extensions.swebench.fidelity import fidelity_markdown
    from agentbench.extensions.swebench.import_state import open_states, storage_errors
    from agentbench.extensions.swebench.importing import ImportSelection, InstanceEnvironmentFinder
    from agentbench.importers.task_images import TaskImages
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.environment.trials import EnvironmentFinder

    settings = validating.validation_settings(validation, resume=True)
    say = say_nothing if validation.quiet else say_line
    mirrors = Mirrors(host.usable_cache_dir() / "mirrors", say=say)
    detector = None
    if instances.detect:
        finder = EnvironmentFinder(settings.options)
        detector = InstanceEnvironmentFinder(finder, mirrors, instances.repos).detect
    selection = ImportSelection(
        out=out,
        replace=replace,
        instances=frozenset(instances.instance) if instances.instance else None,
        limit=instances.limit,
        repos=instances.repos,
        sources=_sources(instances, detector),
        dataset=dataset,
    )

    def save(results: "ImportedInstances") -> None:
        if report is not None:
            text = fidelity_markdown(results, time.monotonic() - results.started)
            with storage_errors(report.parent):
                write_atomically(report, text.encode())

    proof = None
    if prove:
        images, follow = TaskImages(settings.options), validating.follow_validation(validation)
        sources = dataclasses.replace(selection.sources, image_fault=images.fault)
        selection = dataclasses.replace(selection, sources=sources)
        remedy = _REMEDY if announce is None else ""  # `run -d` does not have these options
        proof = ImportProof(settings=settings, images=images, follow=follow, remedy=remedy)
        if announce is not None:
            announce(selection, mirrors, images)
    with open_states(out, replace=replace) as states:
        batches = BatchImport(selection, states, mirrors=mirrors, proof=proof, say=say, save=save)
        try:
            results = batches.run(rows)
        # Whatever ends an import of hours, what was done is kept and its report is written.
        except BaseException as error:
            stopped = batches.results
            if stopped.total:
                save(stopped)
                typer.echo(
                    f"stopped: {stopped.seen} of {stopped.total} done; run the same command again "
                    "to continue",
                    err=True,
                )
            if isinstance(error, KeyboardInterrupt):
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            raise
    for note in results.python_notes():
        say(f"note: {note}")
    return results


def rows_of(source: str, options_of_hub: HubOptions, *, quiet: bool) -> "tuple[RowSource, str]":
    """The rows of a file or a data set, and the data set's name and commit; "" for a file.

    Raises:
        InputError: the file or the part of the data set does not exist.
        UnavailableError: the Hub cannot be reached.
        UsageError: a library is missing.
    """
    from agentbench.extensions.swebench import hub
    from agentbench.extensions.swebench.importing import RowSource, file_source
    from agentbench.tasks.dataset_rows import ROW_SUFFIXES

    asked = asdict(options_of_hub)
    is_named_as_file = source.lower().endswith(ROW_SUFFIXES)
    if not (Path(source).exists() or is_named_as_file or hub.is_dataset_name(source)):
        raise InputError(
            f"{source}: expected a {', '.join(ROW_SUFFIXES)} file or the owner/name of a data set "
            "on the Hugging Face Hub, found neither"
        )
    if Path(source).exists() or is_named_as_file:
        if wrong := [f"--{name}" for name, value in asked.items() if value is not None]:
            message = f"only for a data set of the Hub; {source} is a file"
            raise typer.BadParameter(message, param_hint=", ".join(wrong))
        return file_source(Path(source)), ""
    found = hub.download_split(hub.HubDataset(name=source, **asked))
    if not quiet:
        typer.echo(f"reading {found.source}, config {found.config}, split {found.split}", err=True)
    return RowSource(name=found.source, rows=found.rows), found.source


def _sources(
    instances: InstanceOptions, detect: "EnvironmentDetector | None"
) -> "EnvironmentSources":
    from agentbench.extensions.swebench import environments, recipes

    image_template = instances.image_template
    if image_template is not None and instances.environment is EnvironmentChoice.RECIPES:
        raise typer.BadParameter(
            "uses images, and --environment recipes uses none; leave one of them out",
            param_hint="--image-template",
        )
    if image_template is not None:
        try:
            environments.check_image_template(image_template)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--image-template") from None
    return environments.EnvironmentSources(
        choice=instances.environment,
        own=[recipes.read_recipes(path) for path in instances.recipes or ()],
        image_template=image_template,
        shipped=[recipes.shipped_recipes()],
        detect=detect,
    )
