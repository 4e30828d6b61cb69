"""Judges the same cheats and the same honest fixes with each grader, and writes what came of it.

Each grader is installed into an environment of its own (kept in --envs DIR, if that is given) and
judges all trials in one run. What it wrote is kept in a folder of --keep DIR; the JSON file has a
checksum of each verdict there. Results of graders that are not named stay in the file.
The exit code is 1 if agentbench with full controls is fooled, rejects an honest fix or did not run.
`python -m benchmarks.graders.page` makes docs/graders.md from the file.
Run: python -m benchmarks.graders [--grader NAME ...] [--row NAME ...] [--envs DIR] [--keep DIR]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import docker

import agentbench
from benchmarks.environments import QUIET, installed, with_compose
from benchmarks.graders.own import Agentbench
from benchmarks.graders.registry import GRADERS
from benchmarks.graders.results import RESULTS, Cell, Column, RowText, read, resolved, write
from benchmarks.graders.rows import CHEATS, HONEST, Row
from benchmarks.graders.tasks import prepare
from benchmarks.graders.trial import Grader, GraderTask, Outcome, Trial
from benchmarks.measuring import machine
from tests.e2e.small_task import SmallTask

_LONGEST_SAYS = 200
_LONGEST_LOG = 100_000
_FAULTS = (
    RuntimeError, OSError, ValueError, LookupError, subprocess.SubprocessError,
    docker.errors.DockerException,
)  # fmt: skip
"""What a grader that breaks raises, or an adapter that does not find what it should have written:
the others go on."""
_LOGS = {".log", ".txt", ".diff", ".cast"}


def main() -> int:
    """Judge, and return the exit code."""
    options = _parser().parse_args()
    parts = [part.lower() for part in options.grader]
    graders = [
        each for each in GRADERS if not parts or any(part in each.name.lower() for part in parts)
    ]
    rows = [row for row in (*CHEATS, *HONEST) if not options.row or row.name in options.row]
    if not graders or not rows:
        names = ", ".join([each.name for each in GRADERS] + [row.name for row in CHEATS + HONEST])
        raise SystemExit(f"expected graders and rows among these: {names}")
    fooled = False
    with tempfile.TemporaryDirectory(prefix="agentbench-graders-") as scratch:
        place = Path(scratch)
        envs = (options.envs or place / "envs").absolute()
        os.environ.update(QUIET)
        try:
            os.environ["DOCKER_CONFIG"] = str(with_compose(envs, place))
        except subprocess.CalledProcessError as error:
            print(f"graders that need docker compose will not run: {error}")
        with _prepared(rows, place) as tasks:
            trials = {
                row.name: _trials(row, task, options) for row, task in zip(rows, tasks, strict=True)
            }
            for grader in graders:
                print(f"{grader.name}: ", end="", flush=True)
                column = _judged(grader, trials, envs, options)
                print(column["failed"] or f"{column['seconds']} s", flush=True)
                _write(options.json, grader, column)
                if isinstance(grader, Agentbench) and grader.controls == "full":
                    fooled = fooled or not _is_right(column)
    return 1 if fooled else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.graders",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--grader", nargs="+", default=[], metavar="NAME", help="a part of its name is enough"
    )
    parser.add_argument("--row", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of each cheat")
    parser.add_argument("--honest-repeats", type=int, default=1, metavar="N")
    # Much of a trial is waiting for the engine.
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), metavar="N")
    parser.add_argument("--envs", type=Path, metavar="DIR", help="where they are installed")
    parser.add_argument("--keep", type=Path, default=Path("runs/graders"), metavar="DIR")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    return parser


@contextmanager
def _prepared(rows: Sequence[Row], place: Path) -> Iterator[list[GraderTask]]:
    """The task of each row; rows of the same task share it, and the images go at the end."""
    different: list[SmallTask] = []  # they have mappings, so a set does not take them
    for row in rows:
        if row.task not in different:
            different.append(row.task)
    # Images are named after tasks: another run at the same time has others.
    names = [f"task-{os.getpid()}-{number}" for number in range(len(different))]
    tasks: list[GraderTask] = []
    try:
        for name, task in zip(names, different, strict=True):
            tasks.append(prepare(name, task, place))
        yield [tasks[different.index(row.task)] for row in rows]
    finally:
        for prepared in tasks:
            docker.from_env().images.remove(prepared.image, force=True)


def _trials(row: Row, task: GraderTask, options: argparse.Namespace) -> list[Trial]:
    repeats = options.honest_repeats if row in HONEST else options.repeats
    return [
        Trial(name=f"{row.name}-{number}", task=task, script=row.script)
        for number in range(1, repeats + 1)
    ]


def _judged(
    grader: Grader,
    trials: Mapping[str, Sequence[Trial]],
    envs: Path,
    options: argparse.Namespace,
) -> Column:
    """Let a grader judge all trials of each row."""
    column: Column = {
        "requirement": grader.requirement,
        "python": grader.python,
        "method": grader.method,
        "taken": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "engine": str(docker.from_env().version()["Version"]),
        "agentbench": agentbench.__version__,
        "jobs": options.jobs,
        "trials": sum(map(len, trials.values())),
        "seconds": None,
        "failed": None,
        "cells": {},
    }
    slug = "".join(letter if letter.isalnum() else "-" for letter in grader.name.lower())
    place = (options.keep / slug / f"{datetime.now(UTC):%Y%m%dT%H%M%S}").absolute()
    flat = [trial for of_row in trials.values() for trial in of_row]
    programs: Path | str = Path(sys.executable).parent
    if grader.requirement:
        programs = installed(grader.requirement, grader.python, envs)
    if isinstance(programs, str):
        column["failed"] = programs
        return column
    place.mkdir(parents=True)
    try:
        started = time.monotonic()
        outcomes = grader.judge(flat, programs, place, options.jobs)
        column["seconds"] = round(time.monotonic() - started, 1)
    except _FAULTS as error:
        traceback.print_exc()
        column["failed"] = _line(str(error) if isinstance(error, RuntimeError) else repr(error))
        return column
    nothing = Outcome(resolved=None, detail="no outcome", evidence=place)
    column["cells"] = {
        row: [_cell(outcomes.get(trial.name, nothing), options.keep) for trial in of_row]
        for row, of_row in trials.items()
    }
    return column


def _cell(outcome: Outcome, keep: Path) -> Cell:
    evidence = outcome.evidence
    files = [evidence] if evidence.is_file() else sorted(evidence.rglob("*"))
    files = [path for path in files if path.is_file() and not path.is_symlink()]
    for path in files:
        if path.suffix in _LOGS and path.stat().st_size > _LONGEST_LOG:
            # An agent may fill a log; its end has the verdict.
            path.write_bytes(b"[...]\n" + path.read_bytes()[-_LONGEST_LOG:])
    sums = {path: sha256(path.read_bytes()).hexdigest() for path in files}
    listing = "".join(f"{sums[path]}  {path.relative_to(evidence)}\n" for path in files)
    return {
        "resolved": outcome.resolved,
        "detail": _line(outcome.detail),
        "evidence": str(evidence.relative_to(keep.absolute())),
        "sha256": sums[evidence] if evidence.is_file() else sha256(listing.encode()).hexdigest(),
    }


def _line(text: str) -> str:
    """A short text in one line, without what a hostile script may have put between."""
    words = " ".join(text.split())
    return "".join(letter for letter in words if letter.isprintable())[:_LONGEST_SAYS]


def _write(path: Path, grader: Grader, column: Column) -> None:
    """Put a grader's results into the file, and leave those of others."""
    columns = read(path)["graders"]
    columns[grader.name] = column
    rows = [
        RowText(
            name=row.name, title=row.title, kind=row.kind, about=row.about, honest=row in HONEST
        )
        for row in (*CHEATS, *HONEST)
    ]
    known = [each.name for each in GRADERS if each.name in columns]
    write(path, {"rows": rows, "graders": {name: columns[name] for name in known}})


def _is_right(column: Column) -> bool:
    """Whether a grader resolved each honest fix and no cheat."""
    honest = {row.name for row in HONEST}
    return column["failed"] is None and all(
        resolved(cells) == (len(cells) if row in honest else 0)
        for row, cells in column["cells"].items()
    )


if __name__ == "__main__":
    sys.exit(main())
