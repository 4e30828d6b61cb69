"""Import and export of other formats of tasks: Harbor's and SWE-bench's."""

import dataclasses
import json
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line, say_nothing
from agentbench.cli.tasks import validation as validating
from agentbench.core import host
from agentbench.core.display_text import counted, printable
from agentbench.core.files import write_atomically
from agentbench.errors import InputError
from agentbench.importers.swebench.environment_choice import EnvironmentChoice

if TYPE_CHECKING:
    from agentbench.importers.swebench.batches import ImportedInstances
    from agentbench.importers.swebench.environments import EnvironmentDetector, EnvironmentSources
    from agentbench.importers.swebench.importing import RowSource
    from agentbench.importers.task_folders import ImportResult

_REMEDY = "else give an image with --image-template, or a recipe with another Python with --recipes"


@options.expand_groups
def import_harbor(
    sources: Annotated[
        list[Path], typer.Argument(help="Harbor's task folders, or folders of them.", metavar="DIR")
    ],
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    *,
    validation: options.ValidationOptions,
) -> None:
    """Make tasks of Harbor's folders, schema 1.0 to 1.4; their own scripts decide.

    Example: agentbench tasks import harbor ~/harbor/tasks --out tasks/
    """
    from agentbench.importers.harbor.importing import HARBOR, harbor_format
    from agentbench.importers.task_folders import import_folders
    from agentbench.importers.task_images import TaskImages

    form = HARBOR
    if not no_prove:
        # Only a task without files of its own asks the engine, so it is connected when one does.
        images = cache(lambda: TaskImages(validating.validation_settings(validation).options))
        form = harbor_format(lambda image: images().settings_of(image))
    imported = import_folders(form, sources, out, replace=replace)
    validate_and_report(imported, validation, prove=not no_prove)


def validate_and_report(
    imported: "ImportResult", validation: options.ValidationOptions, *, prove: bool
) -> None:
    """Print the differences to the original, validate what was written, and print the result.

    Raises:
        Exit: something was refused, or a task is invalid.
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    from agentbench.importers.task_images import refuse_without_images

    for note in () if validation.quiet else imported.notes:
        typer.echo(f"note: {printable(note, limit=500)}", err=True)
    refused, written = list(imported.rejections), list(imported.written)
    settings = validating.validation_settings(validation) if prove and written else None
    if settings is not None:
        refused += refuse_without_images(written, settings.options)
        written = [folder for folder in written if folder.exists()]
    validating.validate_and_print(refused, written, settings, validation)


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
    from agentbench.importers.swebench.batches import BatchImport, ImportProof
    from agentbench.importers.swebench.fidelity import fidelity_markdown
    from agentbench.importers.swebench.import_state import open_states, storage_errors
    from agentbench.importers.swebench.importing import ImportSelection, InstanceEnvironmentFinder
    from agentbench.importers.task_images import TaskImages
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.environment.trials import EnvironmentFinder

    settings = validating.validation_settings(validation, resume=True)
    mirrors = Mirrors(host.usable_cache_dir() / "mirrors")
    if report is not None and not report.parent.is_dir():
        raise typer.BadParameter(f"{report.parent} is not a folder", param_hint="--report")
    rows, dataset = _rows_of(source, hub, quiet=validation.quiet)
    # An import takes hours: a file that cannot be read is found before anything else.
    next(rows.rows(), None)
    if instances.repos is not None and not instances.repos.is_dir():
        raise typer.BadParameter(f"{instances.repos} is not a folder", param_hint="--repos")
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
    if not no_prove:
        images, follow = TaskImages(settings.options), validating.follow_validation(validation)
        sources = dataclasses.replace(selection.sources, image_fault=images.fault)
        selection = dataclasses.replace(selection, sources=sources)
        proof = ImportProof(settings=settings, images=images, follow=follow, remedy=_REMEDY)
    say = say_nothing if validation.quiet else say_line
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
    proven = list(results.proven.values()) or None
    as_json = validation.as_json
    validating.print_result(results.rejections, results.written, proven, as_json=as_json)


def _rows_of(source: str, options_of_hub: HubOptions, *, quiet: bool) -> "tuple[RowSource, str]":
    """The rows of a file or a data set, and the data set's name and commit; "" for a file.

    Raises:
        InputError: the file or the part of the data set does not exist.
        UnavailableError: the Hub cannot be reached.
        UsageError: a library is missing.
    """
    from agentbench.importers.swebench import hub
    from agentbench.importers.swebench.importing import RowSource, file_source
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
    from agentbench.importers.swebench import environments, recipes

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


def export_harbor(
    tasks: options.Tasks,
    out: Annotated[Path, typer.Option("--out", help="The folder for the Harbor tasks.")],
    image: Annotated[
        str, typer.Option("--image", help="The image of tasks that name none.")
    ] = "python:3.12-slim",
    replace: options.Replace = False,
    filter_glob: options.Filter = None,
    tag: options.Tag = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write tasks as Harbor's folders; tasks imported from Harbor are written unchanged.

    Example: agentbench tasks export harbor tasks/ --out ~/harbor/tasks
    """
    from agentbench.importers.harbor.export import export_tasks
    from agentbench.tasks.mirror import Mirrors

    cache_dir = host.usable_cache_dir()
    selection = options.TaskSelection(tasks=tasks, filter_glob=filter_glob, tag=tag)
    mirrors = Mirrors(cache_dir / "mirrors")
    exported = export_tasks(selection.load(cache_dir), out, mirrors, image=image, replace=replace)
    if as_json:
        refused = [{"where": each.where, "what": each.what} for each in exported.rejections]
        document = {"written": [str(path) for path in exported.written], "refused": refused}
        typer.echo(json.dumps(document, indent=1))
    else:
        for path in exported.written:
            typer.echo(printable(str(path), limit=500))
    for note in () if quiet else exported.notes:
        typer.echo(f"note: {printable(note, limit=500)}", err=True)
    validating.print_refusals(exported.rejections)
    message = f", {len(exported.rejections)} refused" if exported.rejections else ""
    typer.echo(f"{counted(len(exported.written), 'task')} written{message}", err=True)
    if exported.rejections:
        raise typer.Exit(ExitCode.INPUT)
