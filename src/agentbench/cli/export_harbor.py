"""`agentbench tasks export harbor`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from agentbench.curation.harbor_export.exporting import Exported


def export_harbor(
    tasks: options.Tasks,
    out: Annotated[Path, typer.Option("--out", help="The folder that Harbor's go into.")],
    image: Annotated[
        str, typer.Option("--image", help="What a task starts from that names no image.")
    ] = "python:3.12-slim",
    replace: options.Replace = False,
    filter_glob: options.Filter = None,
    tag: options.Tag = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write tasks as Harbor's folders; what was imported from there goes back as it was.

    Example: agentbench tasks export harbor tasks/ --out ~/harbor/tasks
    """
    from agentbench.cli.selection import select_tasks
    from agentbench.curation.harbor_export.exporting import export_tasks
    from agentbench.runs.places import usable_cache_dir
    from agentbench.tasks.mirror import Mirrors

    del debug  # read by the program itself
    cache_dir = usable_cache_dir()
    chosen = select_tasks(tasks, cache_dir=cache_dir, glob=filter_glob, tag=tag)
    exported = export_tasks(
        chosen, out, Mirrors(cache_dir / "mirrors"), image=image, replace=replace
    )
    _tell(exported, as_json=as_json, quiet=quiet)


def _tell(exported: "Exported", *, as_json: bool, quiet: bool) -> None:
    from agentbench.report.harmless import harmless

    if as_json:
        refused = [{"where": each.where, "what": each.what} for each in exported.refused]
        document = {"written": [str(path) for path in exported.written], "refused": refused}
        typer.echo(json.dumps(document, indent=1))
    else:
        for path in exported.written:
            typer.echo(harmless(str(path), limit=500))
    for note in () if quiet else exported.notes:
        typer.echo(f"note: {harmless(note, limit=500)}", err=True)
    for refusal in exported.refused:
        typer.echo(f"refused: {harmless(str(refusal), limit=500)}", err=True)
    said = f", {len(exported.refused)} refused" if exported.refused else ""
    count = len(exported.written)
    typer.echo(f"{count} task{'s' * (count != 1)} written{said}", err=True)
    if exported.refused:
        raise typer.Exit(ExitCode.INPUT)
