"""`agentbench show`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.errors import InputError

if TYPE_CHECKING:
    from agentbench.runs.reading import Reading

_NAMED = 100  # attempts that a message names


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
    from agentbench.runs.host import available_cpus
    from agentbench.runs.store import RunStore, find_run

    del debug  # read by the program itself
    store = RunStore.open(find_run(run, runs_dir))
    reading = store.reading(processes=available_cpus())
    for warning in reading.warnings():
        typer.echo(f"warning: {warning}", err=True)
    last = [
        number
        for number, told in enumerate(reading.headlines)
        if told.task_id == task and told.attempt == attempt
    ][-1:]
    if not last:
        raise InputError(
            f"{store.folder}: no attempt {attempt} at {task}; there are: {_known(reading)}"
        )
    (record,) = reading.records(last)
    if as_json:
        typer.echo(record.model_dump_json(indent=1))
        return
    typer.echo(render_attempt(record, store.folder_of(record)), nl=False)


def _known(reading: "Reading") -> str:
    names = sorted({f"{told.task_id} {told.attempt}" for told in reading.headlines})
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
