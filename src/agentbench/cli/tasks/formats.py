"""Import and export of other formats of tasks: Harbor's, Terminal-Bench's, SWE-bench's."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.tasks import validation as validating
from agentbench.core import extras, host
from agentbench.core.display_text import counted, printable
from agentbench.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentbench.importers.swebench.environments import EnvironmentDetector, EnvironmentSources
    from agentbench.importers.swebench.importing import SwebenchImportResult
    from agentbench.importers.task_folders import ImportResult
    from agentbench.tasks.dataset_rows import DatasetRow, Rejection
    from agentbench.validation.task_validation import ValidationSettings

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
    """Make tasks of Harbor's folders, schema 1.0 to 1.4; their own scripts judge.

    Example: agentbench tasks import harbor ~/harbor/tasks --out tasks/
    """
    from agentbench.importers.harbor.importing import HARBOR
    from agentbench.importers.task_folders import import_folders

    imported = import_folders(HARBOR, sources, out, replace=replace)
    validate_and_report(imported, validation, prove=not no_prove)


@options.expand_groups
def import_terminal_bench(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Terminal-Bench's task folders, or folders of them.", metavar="DIR"),
    ],
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    *,
    validation: options.ValidationOptions,
) -> None:
    """Make tasks of Terminal-Bench's folders, where they are a single container.

    Example: agentbench tasks import terminal-bench ~/tb/tasks --out tasks/
    """
    extras.require("tasks import terminal-bench", extras.YAML)
    from agentbench.importers.task_folders import import_folders
    from agentbench.importers.terminal_bench import TERMINAL_BENCH

    imported = import_folders(TERMINAL_BENCH, sources, out, replace=replace)
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
    from agentbench.importers.task_folders import refuse_without_images

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
    """Which instances become tasks, and how they are set up."""

    repos: Annotated[
        Path | None,
        typer.Option(
            "--repos", help="Directory of local clones (owner/name); others are cloned from GitHub."
        ),
    ] = None
    recipes: Annotated[
        list[Path] | None,
        typer.Option("--recipes", help="A TOML file of set-ups, before those that ship."),
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
        typer.Option("--instance", help="Only instances with this id, or a pattern: 'django__*'."),
    ] = None
    detect: Annotated[
        bool,
        typer.Option(
            "--detect", help="Try out how instances are set up that no recipe or image is for."
        ),
    ] = False
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
    validation: options.ValidationOptions,
) -> None:
    """Make tasks of SWE-bench's instances, or of SWE-rebench's, SWE-Gym's or SWE-smith's.

    Example: agentbench tasks import swebench SWE-bench/SWE-bench_Verified --limit 5
    """
    from agentbench.importers.swebench import importing
    from agentbench.importers.task_folders import refuse_without_images
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.environment.trials import EnvironmentFinder

    settings = validating.validation_settings(validation)
    repos = _folder(instances.repos)
    rows, dataset = _rows_of(source, hub, quiet=validation.quiet)
    mirrors = Mirrors(host.usable_cache_dir() / "mirrors")
    detector = None
    if instances.detect:
        finder = EnvironmentFinder(settings.options)
        detector = importing.InstanceEnvironmentFinder(finder, mirrors, instances.repos).detect
    selection = importing.ImportSelection(
        out=out,
        replace=replace,
        instances=frozenset(instances.instance) if instances.instance else None,
        limit=instances.limit,
        repos=repos,
        sources=_sources(instances.recipes or [], instances.image_template, detector),
        dataset=dataset,
    )
    imported = importing.import_rows(rows, dataset or source, selection, mirrors)
    refused = [*imported.rejections]
    if not no_prove:
        refused += refuse_without_images(imported.written, settings.options, remedy=_REMEDY)
    refused += _find_test_ids(imported, settings, prove=not no_prove, quiet=validation.quiet)
    written = [folder for folder in imported.written if folder.exists()]
    is_proven = not no_prove and written
    validating.validate_and_print(refused, written, settings if is_proven else None, validation)


def _rows_of(
    source: str, options_of_hub: HubOptions, *, quiet: bool
) -> "tuple[Iterator[DatasetRow | Rejection], str]":
    """The rows of a file or a data set, and the data set's name and commit; "" for a file.

    Raises:
        InputError: the file or the part of the data set does not exist.
        UnavailableError: the Hub cannot be reached.
        UsageError: a library is missing.
    """
    from agentbench.importers.swebench import hub
    from agentbench.tasks.dataset_rows import ROW_SUFFIXES, read_rows

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
        return read_rows(Path(source)), ""
    found = hub.download_split(hub.HubDataset(name=source, **asked))
    if not quiet:
        typer.echo(f"reading {found.source}, config {found.config}, split {found.split}", err=True)
    return found.rows(), found.source


def _folder(repos: Path | None) -> Path | None:
    if repos is not None and not repos.is_dir():
        raise typer.BadParameter(f"{repos} is not a folder", param_hint="--repos")
    return repos


def _sources(
    recipes: list[Path], image_template: str | None, detect: "EnvironmentDetector | None"
) -> "EnvironmentSources":
    from agentbench.importers.swebench import environments

    if image_template is not None:
        try:
            environments.check_image_template(image_template)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--image-template") from None
    return environments.EnvironmentSources(
        own=[environments.read_recipes(path) for path in recipes],
        image_template=image_template,
        shipped=[environments.shipped_recipes()],
        detect=detect,
    )


def _find_test_ids(
    imported: "SwebenchImportResult", settings: "ValidationSettings", *, prove: bool, quiet: bool
) -> "Sequence[Rejection]":
    """Fit the test lists to what a run shows; gives the instances whose names mean no test."""
    from agentbench.importers.swebench.located_tests import refuse_unlocated, write_located_tests

    if not prove:
        return refuse_unlocated(imported.without_node_ids)
    written = [folder for folder in imported.written if folder.exists()]
    if not written:
        return []
    follow = validating.follow_runs(quiet=quiet, verbose=False)
    result = write_located_tests(written, settings.options, follow)
    for note in () if quiet else result.notes:
        typer.echo(f"note: {printable(note, limit=1000)}", err=True)
    return result.rejections


def export_harbor(
    tasks: options.Tasks,
    out: Annotated[Path, typer.Option("--out", help="The folder that Harbor's go into.")],
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
    _print_export(exported, as_json=as_json, quiet=quiet)


def _print_export(exported: "ImportResult", *, as_json: bool, quiet: bool) -> None:
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
