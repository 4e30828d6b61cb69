"""What the commands that make tasks share: validate them, and say what came of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.tasks.dataset_rows import Rejection

if TYPE_CHECKING:
    from agentbench.validation.task_validation import ValidationResult, ValidationSettings
    from agentbench.validation.validation_runs import FollowRun
    from agentbench.runs.run import Run


def validation_settings(
    *,
    repeat: int,
    jobs: str,
    sandbox: options.SandboxName,
    runs_dir: Path,
    write_ids: bool = False,
) -> "ValidationSettings":
    """What the options of a command mean for the gate.

    Raises:
        UsageError: one of them is wrong.
    """
    from agentbench.cli.options import parse_jobs
    from agentbench.validation.task_validation import ValidationSettings
    from agentbench.runs.options import RunOptions
    from agentbench.runs.environment import usable_cache_dir
    from agentbench.core.choices import ControlLevel

    run_options = RunOptions(
        attempts=repeat,
        jobs=parse_jobs(jobs),
        sandbox=sandbox.value,
        runs_dir=runs_dir,
        integrity_controls=ControlLevel.FULL,
        cache_dir=usable_cache_dir(),
        say=lambda line: typer.echo(line, err=True),
    )
    return ValidationSettings(options=run_options, write_ids=write_ids, record=True)


def validate_new_tasks(
    folders: Sequence[Path], settings: "ValidationSettings", *, quiet: bool, verbose: bool
) -> "list[ValidationResult]":
    """Prove what was made, showing its runs as `validate` does.

    Raises:
        Exit: it was interrupted.
        UnavailableError: there is no sandbox.
    """
    from agentbench.validation.task_validation import validate_folders

    return validate_folders(folders, settings, follow_validation(quiet=quiet, verbose=verbose))


def follow_validation(*, quiet: bool, verbose: bool) -> "FollowRun":
    """How the runs of a proof are shown; one that is interrupted ends the command with 130."""
    from agentbench.cli.run_execution import follow_run

    def shown(run: "Run") -> None:
        for warning in run.warnings:
            typer.echo(f"warning: {warning}", err=True)
        follow_run(run, quiet=quiet, verbose=verbose)
        if run.resources.cancel.is_set():
            raise typer.Exit(ExitCode.INTERRUPTED)

    return shown


def print_result(
    refused: Sequence[Rejection],
    written: Sequence[Path],
    proven: "Sequence[ValidationResult] | None",
    *,
    as_json: bool,
) -> None:
    """Say what was refused, written and proven; `proven` is None where nothing was to be proven.

    Raises:
        Exit: 65 where something was refused, 1 where something written is not good.
    """
    from agentbench.core.display_text import printable

    if as_json:
        typer.echo(json.dumps(_json_document(refused, written, proven), indent=1))
    elif proven is None:
        for folder in written:
            typer.echo(printable(str(folder), limit=500))
    else:
        _print(proven)
    for refusal in refused:
        typer.echo(f"refused: {printable(str(refusal), limit=500)}", err=True)
    typer.echo(_summary(refused, written, proven), err=True)
    if refused:
        raise typer.Exit(ExitCode.INPUT)
    if any(not one.good for one in proven or ()):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(proven: "Sequence[ValidationResult]") -> None:
    from agentbench.validation.task_validation import invalid_reasons_text, result_lines
    from agentbench.core.display_text import printable

    for one in proven:
        word = "good" if one.good else "NOT GOOD"
        typer.echo(printable(f"{one.folder}  {word}", limit=500))
        for line in result_lines(one):
            typer.echo(f"  {printable(line, limit=300)}")
    if any(not one.good for one in proven):
        typer.echo(printable(f"not good: {invalid_reasons_text(proven)}", limit=1000), err=True)


def _json_document(
    refused: Sequence[Rejection], written: Sequence[Path], proven: "Sequence[ValidationResult] | None"
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
    refused: Sequence[Rejection], written: Sequence[Path], proven: "Sequence[ValidationResult] | None"
) -> str:
    parts = [f"{len(written)} task{'s' * (len(written) != 1)} written"]
    if proven is not None:
        parts.append(f"{sum(one.good for one in proven)} of {len(proven)} proven good")
    if refused:
        things = {(refusal.where, refusal.instance) for refusal in refused}
        parts.append(f"{len(things)} refused")
    return ", ".join(parts)
