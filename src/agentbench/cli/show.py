"""`agentbench show`."""

from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.errors import InputError


def show(
    run: Annotated[str, typer.Argument(help="A run's folder, its id, or 'last'.")],
    task: Annotated[str, typer.Argument(help="The task's id.")],
    attempt: Annotated[int, typer.Argument(help="Which attempt.", min=1)] = 1,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show one attempt: stages, the reason and why it was chosen, tests, patch.

    Example: agentbench show last lru-expiry
    """
    from agentbench.report.attempt_page import render_attempt
    from agentbench.runs.store import RunStore, find_run

    del debug  # read by the program itself
    store = RunStore.open(find_run(run, runs_dir))
    read = store.latest()
    records = read.records
    for warning in read.warnings:
        typer.echo(f"warning: {warning}", err=True)
    chosen = [r for r in records if r.task_id == task and r.attempt == attempt]
    if not chosen:
        known = ", ".join(sorted({f"{r.task_id} {r.attempt}" for r in records}))
        raise InputError(f"{store.folder}: no attempt {attempt} at {task}; there are: {known}")
    if as_json:
        typer.echo(chosen[0].model_dump_json(indent=1))
        return
    typer.echo(render_attempt(chosen[0], store.folder_of(chosen[0])), nl=False)
