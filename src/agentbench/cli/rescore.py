"""`agentbench rescore`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


def rescore(
    run: options.RunName = "last",
    write: Annotated[
        bool,
        typer.Option("--write", help="Append the changed records to the run."),
    ] = False,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Judge a run's records again with today's rules, and show what changed.

    Example: agentbench rescore last
    """
    from agentbench.runs.rescore import rescore as judged_again
    from agentbench.runs.store import RunStore, find_run

    del debug  # read by the program itself
    store = RunStore.open(find_run(run, runs_dir))
    read = store.latest()
    for warning in read.warnings:
        typer.echo(f"warning: {warning}", err=True)
    pairs = [(record, judged_again(record)) for record in read.records]
    changed = [(before, after) for before, after in pairs if before != after]
    if as_json:
        rows = [
            {
                "task_id": before.task_id,
                "attempt": before.attempt,
                "before": before.failure_reason,
                "after": after.failure_reason,
                "resolved_before": before.resolved,
                "resolved_after": after.resolved,
            }
            for before, after in changed
        ]
        typer.echo(json.dumps({"judged": len(pairs), "changed": rows}, indent=1))
    else:
        for before, after in changed:
            was, now = before.failure_reason or "resolved", after.failure_reason or "resolved"
            typer.echo(f"{before.task_id} attempt {before.attempt}: {was} -> {now}")
        typer.echo(f"{len(changed)} of {len(pairs)} verdicts change", err=True)
    if write:
        for _, after in changed:
            store.append(after, store.rescored_folder(after))
