"""Validates the tasks that a command has written, and prints the result."""

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli.options import PreparationOptions, ValidationOptions, parse_jobs
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import follow_run, print_warnings, say_line
from agentbench.core.display_text import counted, printable
from agentbench.core.host import usable_cache_dir
from agentbench.tasks.control_level import ControlLevel

if TYPE_CHECKING:
    from agentbench.runs.run import Run
    from agentbench.tasks.dataset_rows import Rejection
    from agentbench.validation.task_proof import FollowRun
    from agentbench.validation.task_validation import ValidationResult, ValidationSettings

_MAX_NAMED = 3  # folders in a line
_EXPECTED = {
    "oracle": "with the reference solution, expected to be resolved",
    "noop": "without a fix, expected to fail",
}


def validation_settings(
    validation: ValidationOptions,
    preparation: PreparationOptions | None = None,
    *,
    write_ids: bool = False,
    record: bool = True,
    resume: bool = False,
) -> "ValidationSettings":
    """The validation settings from a command's options.

    Raises:
        UsageError: one of them is wrong.
    """
    from agentbench.runs.options import RunOptions
    from agentbench.validation.task_validation import ValidationSettings

    preparation = preparation or PreparationOptions()
    run_options = RunOptions(
        attempts=validation.repeat,
        jobs=parse_jobs(validation.jobs),
        sandbox=validation.sandbox.value,
        runs_dir=validation.runs_dir,
        allow_env=tuple(validation.allow_env or ()),
        use_cache=not preparation.no_cache,
        registry=preparation.registry,
        runtime=preparation.runtime,
        timeout_scale=preparation.timeout_scale,
        integrity_controls=ControlLevel.FULL,
        cache_dir=usable_cache_dir(),
        say=say_line,
    )
    return ValidationSettings(
        options=run_options, write_ids=write_ids, record=record, resume=resume
    )


def validate_and_print(
    refused: "Sequence[Rejection]",
    written: Sequence[Path],
    settings: "ValidationSettings | None",
    validation: ValidationOptions,
) -> None:
    """Validate new tasks, unless `settings` is None, and print the result.

    Raises:
        Exit: the command was interrupted, something was refused, or a task is invalid.
        UnavailableError: there is no sandbox.
    """
    from agentbench.validation.task_validation import validate_folders

    proven = None
    if settings is not None:
        try:
            proven = validate_folders(written, settings, follow_validation(validation))
        except typer.Exit:  # Ctrl-C; the folders stay
            folders = shlex.join(str(folder) for folder in written[:_MAX_NAMED])
            more = " …" if len(written) > _MAX_NAMED else ""
            write_ids = " --write-ids" if settings.write_ids else ""
            say_line(f"written, not validated: agentbench validate {folders}{more}{write_ids}")
            raise
    print_result(refused, written, proven, as_json=validation.as_json)


def follow_validation(validation: ValidationOptions) -> "FollowRun":
    """Shows the runs of a validation; an interrupted one ends the command with exit code 130."""
    return follow_runs(quiet=validation.quiet, verbose=validation.verbose)


def follow_runs(*, quiet: bool, verbose: bool) -> "FollowRun":
    """The same for a command that is less verbose than its options."""
    printed: set[str] = set()

    def follow(run: "Run") -> None:
        # A validation has several runs, and most of their warnings are about the machine.
        print_warnings(each for each in run.warnings if each not in printed)
        printed.update(run.warnings)
        # Both runs print the same lines, and a failure is success in one of them.
        expected = _EXPECTED.get(run.configuration.agent)
        if expected is not None and not quiet:
            say_line(f"{expected}: {counted(run.configuration.planned_attempts, 'attempt')}")
        follow_run(run, quiet=quiet, verbose=verbose)
        if run.resources.cancel.is_set():
            raise typer.Exit(ExitCode.INTERRUPTED)

    return follow


def print_result(
    refused: "Sequence[Rejection]",
    written: Sequence[Path],
    proven: "Sequence[ValidationResult] | None",
    *,
    as_json: bool,
) -> None:
    """Print what was refused, written and validated; `proven` is None without a validation.

    Raises:
        Exit: 65 if something was refused, 1 if a written task is invalid.
    """
    from agentbench.validation.task_validation import invalid_reasons_text, result_lines

    invalid = [one for one in proven or () if not one.is_valid]
    if as_json:
        typer.echo(json.dumps(_json_document(refused, written, proven), indent=1))
    elif proven is None:
        for folder in written:
            typer.echo(printable(str(folder), limit=500))
    else:
        for one in proven:
            word = "valid" if one.is_valid else "INVALID"
            typer.echo(printable(f"{one.folder}  {word}", limit=500))
            for line in result_lines(one):
                typer.echo(f"  {printable(line, limit=300)}")
        if invalid:
            message = f"not valid: {invalid_reasons_text(proven)}"
            typer.echo(printable(message, limit=1000), err=True)
    print_refusals(refused)
    parts = [f"{counted(len(written), 'task')} written"]
    if proven is not None:
        parts.append(f"{len(proven) - len(invalid)} of {len(proven)} valid")
    if refused:
        parts.append(f"{len({(each.where, each.instance) for each in refused})} refused")
    typer.echo(", ".join(parts), err=True)
    if refused:
        raise typer.Exit(ExitCode.INPUT)
    if invalid:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def print_refusals(refused: Iterable[object]) -> None:
    """Print on stderr what was refused."""
    for refusal in refused:
        typer.echo(f"refused: {printable(str(refusal), limit=500)}", err=True)


def _json_document(
    refused: "Sequence[Rejection]",
    written: Sequence[Path],
    proven: "Sequence[ValidationResult] | None",
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
            {
                "folder": str(one.folder),
                "id": one.task_id,
                "good": one.is_valid,
                "reasons": one.reasons,
            }
            for one in proven
        ]
    return document
