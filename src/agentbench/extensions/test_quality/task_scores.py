"""`agentbench validate --strength`: measures the mutation scores of valid tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

import typer

from agentbench.cli.process_setup import ExitCode, handling_signals
from agentbench.core.display_text import printable
from agentbench.errors import RunCancelled
from agentbench.extensions.test_quality.mutation_measurement import MutationScoreSettings, measure
from agentbench.extensions.test_quality.stronger_tests import StrongerPatches
from agentbench.runs.options import RunOptions
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.validation import mutation_results
from agentbench.validation.mutation_results import MutationScore
from agentbench.validation.task_validation import ValidationResult, read_proof, write_proof

read_stronger_patches = StrongerPatches.read


def measure_valid_tasks(
    proven: Sequence[ValidationResult],
    run_options: RunOptions,
    *,
    most: int,
    seed: int,
    stronger: StrongerPatches | None = None,
    search_seconds: float = 0,
) -> dict[Path, MutationScore]:
    """Measure each valid task, by its folder; the others are not run again.

    Raises:
        Exit: the command was interrupted.
        UnavailableError: there is no sandbox.
    """

    def show(task: Task, strength: MutationScore) -> None:
        typer.echo(f"strength of {task.id}: {_score_text(strength)}", err=True)

    mirrors = Mirrors(run_options.cache_dir / "mirrors")
    good = [one.folder for one in proven if one.is_valid]
    tasks = [load_task(folder, mirrors=mirrors) for folder in good]  # after validation
    cancel = Event()
    settings = MutationScoreSettings(
        options=run_options,
        most=most,
        seed=seed,
        cancel=cancel,
        stronger=stronger,
        search_seconds=search_seconds,
    )
    with handling_signals(lambda _number: cancel.set()):
        try:
            found = dict(zip(good, measure(tasks, settings, show), strict=True))
        except RunCancelled:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    invalid = MutationScore(why_not="the task is not valid")
    return {one.folder: found.get(one.folder, invalid) for one in proven}


def store_in_proofs(strengths: Mapping[Path, MutationScore]) -> None:
    """Write the scores to proof.json, if there is one.

    Raises:
        OSError: a task's folder cannot be written.
    """
    for folder, strength in strengths.items():
        proof = read_proof(folder)
        if proof is not None and not strength.why_not:
            write_proof(folder, proof.replace(strength=strength))


def warn_of_weak_tests(
    proven: Sequence[ValidationResult], strengths: Mapping[Path, MutationScore], least: float
) -> bool:
    """Name on stderr the tasks below the requested score; returns whether there are any."""
    weak = [one for one in proven if not mutation_results.reaches(strengths[one.folder], least)]
    for one in weak:
        text = _score_text(strengths[one.folder])
        typer.echo(f"warning: weak-tests: {one.task_id}: {text}; required: {least:g} %", err=True)
    return bool(weak)


def _score_text(strength: MutationScore) -> str:
    if strength.why_not:
        return printable(f"not measured: {strength.why_not}", limit=500)
    parts = [f"{mutation_results.killed_text(strength)} killed"]
    if count := len(strength.of(mutation_results.MutantOutcome.NOT_JUDGED)):
        parts.append(f"{count} not judged")
    if count := len(strength.certified):
        parts.append(f"certified wrong fixes: {count}")
    return ", ".join(parts)
