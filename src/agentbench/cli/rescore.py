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
    reading = store.reading(whole=True)
    for warning in reading.warnings():
        typer.echo(f"warning: {warning}", err=True)
    latest = reading.latest()
    changed: list[dict[str, object]] = []
    for before in reading.records(latest):
        after = judged_again(before)
        if after == before:
            continue
        changed.append(
            {
                "task_id": before.task_id,
                "attempt": before.attempt,
                "before": before.failure_reason,
                "after": after.failure_reason,
                "resolved_before": before.resolved,
                "resolved_after": after.resolved,
            }
        )
        if write:  # behind all that is still to be read
            store.append(after, store.rescored_folder(after))
    if as_json:
        typer.echo(json.dumps({"judged": len(latest), "changed": changed}, indent=1))
        return
    for row in changed:
        was, now = row["before"] or "resolved", row["after"] or "resolved"
        typer.echo(f"{row['task_id']} attempt {row['attempt']}: {was} -> {now}")
    typer.echo(f"{len(changed)} of {len(latest)} verdicts change", err=True)
