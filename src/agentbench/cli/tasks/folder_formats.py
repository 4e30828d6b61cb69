"""Import and export of formats in which a task is a folder: Harbor's, Terminal-Bench's."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.options import ValidationOptions, expand_groups
from agentbench.cli.process_setup import ExitCode
from agentbench.core.display_text import counted, printable

if TYPE_CHECKING:
    from agentbench.importers.task_folders import ImportResult


@expand_groups
def import_harbor(
    sources: Annotated[
        list[Path], typer.Argument(help="Harbor's task folders, or folders of them.", metavar="DIR")
    ],
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    validation: ValidationOptions = ValidationOptions(),  # noqa: B008 - typer gets its fields
) -> None:
    """Make tasks of Harbor's folders, schema 1.0 to 1.4; their own scripts judge.

    Example: agentbench tasks import harbor ~/harbor/tasks --out tasks/
    """
    from agentbench.importers.harbor.importing import HARBOR
    from agentbench.importers.task_folders import import_folders

    imported = import_folders(HARBOR, sources, out, replace=replace)
    validate_and_report(imported, validation, prove=not no_prove)


@expand_groups
def import_terminal_bench(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Terminal-Bench's task folders, or folders of them.", metavar="DIR"),
    ],
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    validation: ValidationOptions = ValidationOptions(),  # noqa: B008 - typer gets its fields
) -> None:
    """Make tasks of Terminal-Bench's folders, where they are a single container.

    Example: agentbench tasks import terminal-bench ~/tb/tasks --out tasks/
    """
    from agentbench.core.extras import YAML, require

    require("tasks import terminal-bench", YAML)
    from agentbench.importers.task_folders import import_folders
    from agentbench.importers.terminal_bench import TERMINAL_BENCH

    imported = import_folders(TERMINAL_BENCH, sources, out, replace=replace)
    validate_and_report(imported, validation, prove=not no_prove)


def validate_and_report(
    imported: "ImportResult", validation: ValidationOptions, *, prove: bool
) -> None:
    """Print the differences to the original, validate what was written, and print the result.

    Raises:
        Exit: something was refused, or a task is invalid.
        UnavailableError: there is no sandbox.
        UsageError: an option is wrong.
    """
    from agentbench.cli.tasks.validation import (
        print_result,
        validate_new_tasks,
        validation_settings,
    )
    from agentbench.importers.images import refuse_without_images

    for note in () if validation.quiet else imported.notes:
        typer.echo(f"note: {printable(note, limit=500)}", err=True)
    proven, refused, written = None, list(imported.rejections), list(imported.written)
    if prove and written:
        settings = validation_settings(validation)
        refused += refuse_without_images(written, settings.options)
        written = [folder for folder in written if folder.exists()]
        proven = validate_new_tasks(written, settings, validation)
    print_result(refused, written, proven, as_json=validation.as_json)


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
    from agentbench.cli.options import select_tasks
    from agentbench.importers.harbor.export import export_tasks
    from agentbench.runs.environment import usable_cache_dir
    from agentbench.tasks.mirror import Mirrors

    cache_dir = usable_cache_dir()
    chosen = select_tasks(tasks, cache_dir=cache_dir, glob=filter_glob, tag=tag)
    exported = export_tasks(
        chosen, out, Mirrors(cache_dir / "mirrors"), image=image, replace=replace
    )
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
    for refusal in exported.rejections:
        typer.echo(f"refused: {printable(str(refusal), limit=500)}", err=True)
    message = f", {len(exported.rejections)} refused" if exported.rejections else ""
    typer.echo(f"{counted(len(exported.written), 'task')} written{message}", err=True)
    if exported.rejections:
        raise typer.Exit(ExitCode.INPUT)
