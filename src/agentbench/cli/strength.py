"""`validate --strength`: measuring what the hidden tests let pass, and saying so."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentbench.curation.gate import Proven
    from agentbench.curation.strength.results import Strength
    from agentbench.runs.options import RunOptions
    from agentbench.tasks.task import Task

Measure = Annotated[
    bool,
    typer.Option(
        "--strength",
        help="Also change the reference solution in small ways, and name what the tests let pass.",
    ),
]
MostMutants = Annotated[
    int, typer.Option("--mutants", help="At most so many changes of one task.", min=1)
]
MutantSeed = Annotated[
    int, typer.Option("--mutant-seed", help="What they are drawn with, where there are more.")
]
LeastStrength = Annotated[
    float | None,
    typer.Option(
        "--min-strength",
        help="Fail (exit code 1) for a task of which less percent are killed.",
        min=0,
        max=100,
    ),
]


def measure_proven(
    proven: "Sequence[Proven]",
    options: "RunOptions",
    *,
    most: int,
    seed: int,
) -> "dict[Path, Strength]":
    """Measure each task that is good, by its folder; the others are not run again.

    Raises:
        Exit: it was interrupted.
        UnavailableError: there is no sandbox.
    """
    from agentbench.curation.strength.results import Strength
    from agentbench.curation.strength.running import StrengthSettings, measure
    from agentbench.tasks.load import load_task
    from agentbench.tasks.mirror import Mirrors

    mirrors = Mirrors(options.cache_dir / "mirrors")
    good = [one.folder for one in proven if one.good]
    tasks = [load_task(folder, mirrors=mirrors) for folder in good]  # as proving left them
    cancel = Event()
    settings = StrengthSettings(options=options, most=most, seed=seed, cancel=cancel)
    with _stopping(cancel):
        found = dict(zip(good, measure(tasks, settings, _tell), strict=True))
    invalid = Strength(why_not="the task is not valid")
    return {one.folder: found.get(one.folder, invalid) for one in proven}


def keep_in_proofs(strengths: "Mapping[Path, Strength]") -> None:
    """Put them into proof.json, where there is one.

    Raises:
        OSError: a task's folder cannot be written.
    """
    from agentbench.curation.kept_proof import read_proof, write_proof

    for folder, strength in strengths.items():
        kept = read_proof(folder)
        if kept is not None and not strength.why_not:
            write_proof(folder, kept.model_copy(update={"strength": strength}))


def say_weakness(
    proven: "Sequence[Proven]", strengths: "Mapping[Path, Strength]", least: float
) -> bool:
    """Name on stderr the tasks that do not reach what was asked; whether there are any."""
    from agentbench.curation.strength.results import reaches

    weak = [one for one in proven if not reaches(strengths[one.folder], least)]
    for one in weak:
        said = _said(strengths[one.folder])
        typer.echo(f"warning: weak-tests: {one.task_id}: {said}; asked for {least:g} %", err=True)
    return bool(weak)


def _tell(task: "Task", strength: "Strength") -> None:
    typer.echo(f"strength of {task.id}: {_said(strength)}", err=True)


def _said(strength: "Strength") -> str:
    from agentbench.curation.strength.results import Outcome
    from agentbench.curation.strength.shown import share_of
    from agentbench.report.harmless import harmless

    if strength.why_not:
        return harmless(f"not measured: {strength.why_not}", limit=500)
    lost = len(strength.of(Outcome.NOT_JUDGED))
    return f"{share_of(strength)} killed{f', {lost} not judged' if lost else ''}"


@contextmanager
def _stopping(cancel: Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM end what runs, and then the command."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        cancel.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
