"""`agentbench runs`: the runs of a folder."""

import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.core.display_text import printable

if TYPE_CHECKING:
    from agentbench.report.reported_run import ReportedRun
    from agentbench.runs.store.configuration import RunConfiguration


def runs(
    agent: Annotated[
        str | None, typer.Option("--agent", help="Only agents whose names match this glob.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Only models whose names match this glob.")
    ] = None,
    run_tag: Annotated[
        list[str] | None,
        typer.Option("--run-tag", help="Only runs with this tag (repeatable: with all of them)."),
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", help="Only runs whose notes contain this text.")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="At most this many.", min=1)] = 20,
    validation: Annotated[
        bool, typer.Option("--validation", help="List the runs that validate tasks instead.")
    ] = False,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """List runs, the newest first: when, agent, rate, ending, tags and note.

    Example: agentbench runs --agent 'claude*' --run-tag nightly
    """
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.text_table import TableColumn, console_of, print_rows, print_text
    from agentbench.runs.store.store import run_folders

    def is_selected(known: "RunConfiguration | None") -> bool:
        if known is None:  # damaged, or of a newer agentbench
            return not (agent or model or run_tag or note)
        return (
            (agent is None or fnmatchcase(known.agent, agent))
            and (model is None or fnmatchcase(known.model or "", model))
            and set(run_tag or ()) <= set(known.tags)
            and (note is None or note.casefold() in (known.note or "").casefold())
        )

    selected: list[ReportedRun] = []
    more = 0
    folders = run_folders(runs_dir, validation=validation)
    for folder in folders:
        if len(selected) < limit:
            # Records are read of listed runs only.
            run = ReportedRun.read(folder)
            selected += [run] if is_selected(run.configuration) else []
        else:
            more += 1
    rows = list(map(_row, selected))
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    if not rows:
        hint = (
            "has runs, but none matches"
            if folders
            else "no run here yet; `agentbench run` creates one"
        )
        typer.echo(f"{runs_dir}: {hint}", err=True)
        return
    names = list(rows[0])
    # A column that says nothing is left out.
    names = [name for name in names if any(row[name] for row in rows)]
    columns = [TableColumn(name=name, below=int(name in {"note", "tags"})) for name in names]
    cells = [[_cell(row[name]) for name in names] for row in rows]
    console = console_of(sys.stdout)
    print_rows(columns, cells, console)
    if more:
        print_text(f"{more} older not read; --limit lists more", console)


def _cell(value: str | int | tuple[str, ...] | None) -> str:
    return printable(" ".join(value) if isinstance(value, tuple) else str(value or ""))


def _row(run: "ReportedRun") -> "dict[str, str | int | tuple[str, ...] | None]":
    from agentbench.report.summary import ResultSummary
    from agentbench.runs.store.store import is_run_locked

    known, summary = run.configuration, ResultSummary.of(run.attempts)
    ending = "" if known is None or known.ending is None else known.ending.value
    if known is None:
        ending = "run.json cannot be read"
    elif is_run_locked(run.folder):
        ending = "running"
    made = f"{summary.overall.resolved}/{summary.overall.total}"
    if known is not None and known.planned_attempts != summary.overall.total:
        made += f" of {known.planned_attempts}"
    return {
        "run": run.folder.resolve().name,
        "started": f"{known.started_at:%Y-%m-%d %H:%M}" if known is not None else None,
        "agent": known.agent if known is not None else None,
        "model": known.model if known is not None else None,
        "tasks": len(known.tasks) if known is not None else None,
        "resolved": made,
        "ending": ending or "cut off",
        "tags": known.tags if known is not None else (),
        "note": known.note if known is not None else None,
    }
