"""`validate --strength`: measure which mutants the hidden tests let pass, and say so."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli.process_setup import ExitCode
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
        help="Also change the reference solution in small ways, and name what the tests let pass.",
    ),
]
MutantsOption = Annotated[
    int, typer.Option("--mutants", help="At most so many changes of one task.", min=1)
]
MutantSeedOption = Annotated[
    int, typer.Option("--mutant-seed", help="What they are drawn with, where there are more.")
]
MinStrengthOption = Annotated[
    float | None,
    typer.Option(
        "--min-strength",
        help="Fail (exit code 1) for a task of which less percent are killed.",
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
    """Measure each task that is good, by its folder; the others are not run again.

    Raises:
        Exit: it was interrupted.
        UnavailableError: there is no sandbox.
    """
    from agentbench.tasks.loading import load_task
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.mutation_score.measurement import MutationScoreSettings, measure
    from agentbench.validation.mutation_score.results import MutationScore

    mirrors = Mirrors(options.cache_dir / "mirrors")
    good = [one.folder for one in proven if one.good]
    tasks = [load_task(folder, mirrors=mirrors) for folder in good]  # as proving left them
    cancel = Event()
    settings = MutationScoreSettings(options=options, most=most, seed=seed, cancel=cancel)
    with _cancel_on_signals(cancel):
        found = dict(zip(good, measure(tasks, settings, _tell), strict=True))
    invalid = MutationScore(why_not="the task is not valid")
    return {one.folder: found.get(one.folder, invalid) for one in proven}


def store_in_proofs(strengths: "Mapping[Path, MutationScore]") -> None:
    """Put them into proof.json, where there is one.

    Raises:
        OSError: a task's folder cannot be written.
    """
    from agentbench.validation.proof_file import read_proof, write_proof

    for folder, strength in strengths.items():
        kept = read_proof(folder)
        if kept is not None and not strength.why_not:
            write_proof(folder, kept.model_copy(update={"strength": strength}))


def warn_of_weak_tests(
    proven: "Sequence[ValidationResult]", strengths: "Mapping[Path, MutationScore]", least: float
) -> bool:
    """Name on stderr the tasks that do not reach what was asked; whether there are any."""
    from agentbench.validation.mutation_score.results import reaches

    weak = [one for one in proven if not reaches(strengths[one.folder], least)]
    for one in weak:
        said = _score_text(strengths[one.folder])
        typer.echo(f"warning: weak-tests: {one.task_id}: {said}; asked for {least:g} %", err=True)
    return bool(weak)


def _tell(task: "Task", strength: "MutationScore") -> None:
    typer.echo(f"strength of {task.id}: {_score_text(strength)}", err=True)


def _score_text(strength: "MutationScore") -> str:
    from agentbench.core.display_text import printable
    from agentbench.validation.mutation_score.results import MutantOutcome, killed_text

    if strength.why_not:
        return printable(f"not measured: {strength.why_not}", limit=500)
    lost = len(strength.of(MutantOutcome.NOT_JUDGED))
    return f"{killed_text(strength)} killed{f', {lost} not judged' if lost else ''}"


@contextmanager
def _cancel_on_signals(cancel: Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM end what runs, and then the command."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        cancel.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except RunCancelled:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
