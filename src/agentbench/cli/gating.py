"""What the commands that make tasks share: proving what they made, and saying what came of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode
from agentbench.tasks.importers.refusal import Refusal

if TYPE_CHECKING:
    from agentbench.curation.gate import GateSettings, Proven
    from agentbench.curation.proving import Follow
    from agentbench.runs.run import Run


def gate_settings(
    *,
    repeat: int,
    jobs: str,
    sandbox: options.SandboxName,
    runs_dir: Path,
    write_ids: bool = False,
) -> "GateSettings":
    """What the options of a command mean for the gate.

    Raises:
        UsageError: one of them is wrong.
    """
    from agentbench.cli.selection import number_of_jobs
    from agentbench.curation.gate import GateSettings
    from agentbench.runs.options import RunOptions
    from agentbench.runs.places import usable_cache_dir
    from agentbench.tasks.control_level import ControlLevel

    run_options = RunOptions(
        attempts=repeat,
        jobs=number_of_jobs(jobs),
        sandbox=sandbox.value,
        runs_dir=runs_dir,
        integrity_controls=ControlLevel.FULL,
        cache_dir=usable_cache_dir(),
        say=lambda line: typer.echo(line, err=True),
    )
    return GateSettings(options=run_options, write_ids=write_ids, record=True)


def prove_made(
    folders: Sequence[Path], settings: "GateSettings", *, quiet: bool, verbose: bool
) -> "list[Proven]":
    """Prove what was made, showing its runs as `validate` does.

    Raises:
        Exit: it was interrupted.
        UnavailableError: there is no sandbox.
    """
    from agentbench.curation.gate import prove_folders

    return prove_folders(folders, settings, showing(quiet=quiet, verbose=verbose))


def showing(*, quiet: bool, verbose: bool) -> "Follow":
    """How the runs of a proof are shown; one that is interrupted ends the command with 130."""
    from agentbench.cli.progress import follow

    def shown(run: "Run") -> None:
        for warning in run.warnings:
            typer.echo(f"warning: {warning}", err=True)
        follow(run, quiet=quiet, verbose=verbose)
        if run.workshop.cancel.is_set():
            raise typer.Exit(ExitCode.INTERRUPTED)

    return shown


def tell(
    refused: Sequence[Refusal],
    written: Sequence[Path],
    proven: "Sequence[Proven] | None",
    *,
    as_json: bool,
) -> None:
    """Say what was refused, written and proven; `proven` is None where nothing was to be proven.

    Raises:
        Exit: 65 where something was refused, 1 where something written is not good.
    """
    from agentbench.report.harmless import harmless

    if as_json:
        typer.echo(json.dumps(_document(refused, written, proven), indent=1))
    elif proven is None:
        for folder in written:
            typer.echo(harmless(str(folder), limit=500))
    else:
        _print(proven)
    for refusal in refused:
        typer.echo(f"refused: {harmless(str(refusal), limit=500)}", err=True)
    typer.echo(_summary(refused, written, proven), err=True)
    if refused:
        raise typer.Exit(ExitCode.INPUT)
    if any(not one.good for one in proven or ()):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(proven: "Sequence[Proven]") -> None:
    from agentbench.curation.summary import findings_of, why_not
    from agentbench.report.harmless import harmless

    for one in proven:
        word = "good" if one.good else "NOT GOOD"
        typer.echo(harmless(f"{one.folder}  {word}", limit=500))
        for line in findings_of(one):
            typer.echo(f"  {harmless(line, limit=300)}")
    if any(not one.good for one in proven):
        typer.echo(harmless(f"not good: {why_not(proven)}", limit=1000), err=True)


def _document(
    refused: Sequence[Refusal], written: Sequence[Path], proven: "Sequence[Proven] | None"
) -> dict[str, object]:
    document: dict[str, object] = {
        "written": [str(folder) for folder in written],
        "refused": [
            {"where": r.where, "instance": r.instance, "field": r.field, "what": r.what}
            for r in refused
        ],
    }
    if proven is not None:
        document["proven"] = [
            {"folder": str(one.folder), "id": one.task_id, "good": one.good, "reasons": one.reasons}
            for one in proven
        ]
    return document


def _summary(
    refused: Sequence[Refusal], written: Sequence[Path], proven: "Sequence[Proven] | None"
) -> str:
    parts = [f"{len(written)} task{'s' * (len(written) != 1)} written"]
    if proven is not None:
        parts.append(f"{sum(one.good for one in proven)} of {len(proven)} proven good")
    if refused:
        things = {(refusal.where, refusal.instance) for refusal in refused}
        parts.append(f"{len(things)} refused")
    return ", ".join(parts)
