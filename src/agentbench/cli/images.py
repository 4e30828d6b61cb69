"""`agentbench images`: build and list the base images that Docker sandboxes start from."""

import json
import sys
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.cli.run_execution import say_line
from agentbench.sandbox.base_images import DEFAULT_PYTHON, STACKS, stack_for

images = options.command_group("The base images that Docker sandboxes start from.")


@images.command("build")
def build_images(
    python: Annotated[
        str, typer.Option("--python", help=f"Its Python version: {', '.join(STACKS)}.")
    ] = DEFAULT_PYTHON,
) -> None:
    """Build the base image, from a registry where one answers, else from Debian's packages.

    Example: agentbench images build
    """
    from agentbench.sandbox.docker.engine import Engine
    from agentbench.sandbox.docker.images import build_base_image

    stack_for(python)  # a version that is never built is refused without an engine, too
    image = build_base_image(Engine.connect(), python, progress=say_line)
    typer.echo(f"{image.name} (Python {image.python}, {image.size_bytes / 2**20:.0f} MiB)")


@images.command("list")
def show_images(as_json: options.Json = False) -> None:
    """List the base images that are there.

    Example: agentbench images list
    """
    from agentbench.report.text_table import TableColumn, console_of, print_rows
    from agentbench.sandbox.docker.engine import Engine
    from agentbench.sandbox.docker.images import list_images

    found = list_images(Engine.connect())
    if as_json:
        rows = [
            {"name": each.name, "python": each.python, "id": each.id, "size": each.size_bytes}
            for each in found
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    table = [
        (each.name, f"Python {each.python}", f"{each.size_bytes / 2**20:.0f} MiB") for each in found
    ]
    columns = (TableColumn(), TableColumn(below=1), TableColumn(is_right=True, below=1))
    print_rows(columns, table, console_of(sys.stdout), has_header=False)
    if not found:
        typer.echo("no base image yet; make one: agentbench images build", err=True)
