"""`validate --strength`: measure and print the mutation score of the hidden tests."""

from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli.process_setup import ExitCode, handling_signals
from agentbench.core.display_text import printable
from agentbench.errors import RunCancelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentbench.runs.options import RunOptions
    from agentbench.tasks.task import Task
    from agentbench.validation.mutation_score.results import MutationScore
    from agentbench.validation.task_validation import ValidationResult

StrengthOption = Annotated[
    bool,
    typer.Option(
        "--strength",
        help="Also change the reference solution slightly, and name the changes that tests miss.",
    ),
]
MutantsOption = Annotated[
    int, typer.Option("--mutants", help="At most this many mutants per task.", min=1)
]
MutantSeedOption = Annotated[
    int,
    typer.Option("--mutant-seed", help="The seed that selects mutants, if there are more."),
]
MinStrengthOption = Annotated[
    float | None,
    typer.Option(
        "--min-strength",
        help="Fail (exit code 1) if the mutation score of a task is below this percentage.",
        min=0,
        max=100,
    ),
]


def measure_valid_tasks(
    proven: "Sequence[ValidationResult]",
    options: "RunOptions",
    *,
    most: int,
    seed: int,
) -> "dict[Path, MutationScore]":
    """Measure each valid task, by its folder; the others are not run again."""
    from agentbench.tasks.loading import load_task
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.mutation_score.measurement import MutationScoreSettings, measure
    from agentbench.validation.mutation_score.results import MutationScore

    mirrors = Mirrors(options.cache_dir / "mirrors")
    good = [one.folder for one in proven if one.is_valid]
    tasks = [load_task(folder, mirrors=mirrors) for folder in good]  # as proving left them
    cancel = Event()
    settings = MutationScoreSettings(options=options, most=most, seed=seed, cancel=cancel)
    with handling_signals(lambda _number: cancel.set()):
        try:
            found = dict(zip(good, measure(tasks, settings, _tell), strict=True))
        except RunCancelled:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    invalid = MutationScore(why_not="the task is not valid")
    return {one.folder: found.get(one.folder, invalid) for one in proven}


def store_in_proofs(strengths: "Mapping[Path, MutationScore]") -> None:
    """Write the scores to proof.json, if there is one."""
    from agentbench.validation.task_validation import read_proof, write_proof

    for folder, strength in strengths.items():
        proof = read_proof(folder)
        if proof is not None and not strength.why_not:
            write_proof(folder, proof.model_copy(update={"strength": strength}))


def warn_of_weak_tests(
    proven: "Sequence[ValidationResult]", strengths: "Mapping[Path, MutationScore]", least: float
) -> bool:
    """Name on stderr the tasks below the requested score; returns whether there are any."""
    from agentbench.validation.mutation_score.results import reaches

    weak = [one for one in proven if not reaches(strengths[one.folder], least)]
    for one in weak:
        text = _score_text(strengths[one.folder])
        typer.echo(f"warning: weak-tests: {one.task_id}: {text}; asked for {least:g} %", err=True)
    return bool(weak)


def _tell(task: "Task", strength: "MutationScore") -> None:
    typer.echo(f"strength of {task.id}: {_score_text(strength)}", err=True)


def _score_text(strength: "MutationScore") -> str:
    from agentbench.validation.mutation_score.results import MutantOutcome, killed_text

    if strength.why_not:
        return printable(f"not measured: {strength.why_not}", limit=500)
    lost = len(strength.of(MutantOutcome.NOT_JUDGED))
    return f"{killed_text(strength)} killed{f', {lost} not judged' if lost else ''}"
