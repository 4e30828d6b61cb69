"""`agentbench tasks import harbor` and `tasks export harbor`."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.tasks import validation as validating
from agentbench.core import host
from agentbench.core.display_text import counted, printable

if TYPE_CHECKING:
    from agentbench.importers.task_folders import FolderFormat, ImportResult


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
    from agentbench.extensions.harbor.importing import HARBOR
    from agentbench.importers.task_folders import import_folders

    form = HARBOR if no_prove else format_with_images(validation)
    imported = import_folders(form, sources, out, replace=replace)
    validate_and_report(imported, validation, prove=not no_prove)


def format_with_images(validation: options.ValidationOptions) -> "FolderFormat":
    """Harbor's format with the users and folders of the engine's images.

    Raises:
        UsageError: an option is wrong.
    """
    from agentbench.extensions.harbor.importing import harbor_format
    from agentbench.importers.task_images import TaskImages

    # Only a task without files of its own asks the engine, so it is connected when one does.
    images = cache(lambda: TaskImages(validating.validation_settings(validation).options))
    return harbor_format(lambda image: images().settings_of(image))


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


def export_harbor(
    tasks: options.Tasks,
    out: Annotated[Path, typer.Option("--out", help="The folder for the Harbor tasks.")],
    image: Annotated[
        str, typer.Option("--image", help="The image of tasks that name none.")
    ] = "python:3.12-slim",
    replace: options.Replace = False,
    filter_globs: options.Filter = None,
    tag: options.Tag = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write tasks as Harbor's folders; tasks imported from Harbor are written unchanged.

    Example: agentbench tasks export harbor tasks/ --out ~/harbor/tasks
    """
    from agentbench.extensions.harbor.export import export_tasks
    from agentbench.tasks.mirror import Mirrors

    cache_dir = host.usable_cache_dir()
    selection = options.TaskSelection(tasks=tasks, filter_globs=filter_globs, tag=tag)
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
