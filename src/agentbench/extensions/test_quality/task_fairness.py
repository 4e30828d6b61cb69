"""`agentbench validate --fairness`: measures which right fixes the tests of valid tasks reject."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event

import typer

from agentbench.cli.process_setup import ExitCode, handling_signals
from agentbench.core.display_text import printable
from agentbench.errors import RunCancelled
from agentbench.extensions.test_quality.fairness_measurement import (
    FairnessSettings,
    measure_fairness,
)
from agentbench.runs.options import RunOptions
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.validation.fairness_results import Fairness, fairness_lines
from agentbench.validation.task_validation import ValidationResult, read_proof, write_proof


def measure_valid_tasks(
    proven: Sequence[ValidationResult], run_options: RunOptions, *, within: timedelta
) -> dict[Path, Fairness]:
    """Measure each valid task, by its folder, one after the other; the others are not run again.

    Raises:
        Exit: the command was interrupted.
        UnavailableError: there is no sandbox.
    """
    mirrors = Mirrors(run_options.cache_dir / "mirrors")
    provider = select_back_end(run_options.sandbox, cache_dir=run_options.cache_dir).provider
    cancel = Event()
    settings = FairnessSettings(options=run_options, within=within, cancel=cancel)
    found: dict[Path, Fairness] = {}
    with handling_signals(lambda _number: cancel.set()):
        for one in proven:
            if not one.is_valid:
                found[one.folder] = Fairness(why_not="the task is not valid")
                continue
            task = load_task(one.folder, mirrors=mirrors)  # validation may have changed it
            try:
                found[one.folder] = measure_fairness(task, settings, provider)
            except RunCancelled:
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            line = next(fairness_lines(found[one.folder]))
            typer.echo(printable(f"{task.id}: {line}", limit=500), err=True)
    return found


def store_in_proofs(found: Mapping[Path, Fairness]) -> None:
    """Write the results to proof.json, if there is one.

    Raises:
        OSError: a task's folder cannot be written.
    """
    for folder, fairness in found.items():
        proof = read_proof(folder)
        if proof is not None and not fairness.why_not:
            write_proof(folder, proof.replace(fairness=fairness))
