"""`agentbench audit`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from agentbench.audit.rule import Audited
    from agentbench.cli.wrong_fixes import Comparing
    from agentbench.scoring.evidence import Finding
    from agentbench.tasks.mirror import Mirrors

_STYLES = {"info": "cyan", "warning": "yellow", "critical": "bold red"}
_LONGEST = 400

WrongFixes = Annotated[
    bool,
    typer.Option(
        "--wrong-fixes",
        help="Also compare what resolved attempts wrote with the reference fix, by running both "
        "in sandboxes.",
    ),
]
Sandbox = Annotated[
    options.SandboxName | None,
    typer.Option("--sandbox", help="With --wrong-fixes: what to run in; else what the run had."),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", help="With --wrong-fixes: how long to search an attempt.", min=1),
]


class FailOn(StrEnum):
    """What `--fail-on` takes."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


def audit(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Runs (a folder, an id, or 'last'), task folders, folders of task folders, "
            "or suite files.",
            metavar="PATH...",
        ),
    ],
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit 1 on a finding of this weight or more.")
    ] = FailOn.CRITICAL,
    wrong_fixes: WrongFixes = False,
    sandbox: Sandbox = None,
    seconds: Seconds = 60,
    runs_dir: options.RunsDir = Path("runs"),
    filter_glob: options.Filter = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Look through tasks and runs for known leaks.

    Reads only, and runs nothing of them, but with --wrong-fixes.

    Example: agentbench audit tasks/ --fail-on warning
    """
    from agentbench.cli.wrong_fixes import Comparing
    from agentbench.runs.places import usable_cache_dir
    from agentbench.tasks.mirror import Mirrors

    del debug  # read by the program itself
    mirrors = Mirrors(usable_cache_dir() / "mirrors")
    comparing = Comparing.asked(sandbox, seconds) if wrong_fixes else None
    audited = _audited(paths, runs_dir, mirrors, filter_glob, comparing)
    counts = {
        level: sum(f.severity.value == level for one in audited for f in one.findings)
        for level in FailOn
    }
    failed = any(counts[level] for level in list(FailOn)[list(FailOn).index(fail_on) :])
    if as_json:
        typer.echo(json.dumps(_document(audited, counts, failed=failed), indent=1))
    else:
        _print(audited)
    typer.echo(_summary(audited, counts), err=True)
    if failed:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _audited(
    paths: "Sequence[str]",
    runs_dir: Path,
    mirrors: "Mirrors",
    glob: str | None,
    comparing: "Comparing | None",
) -> "list[Audited]":
    from agentbench.audit.run_folder import is_run, open_run
    from agentbench.audit.runs import audit_run

    runs: list[Path] = []
    tasks: list[Path] = []
    for path in paths:
        place = _place_of(path, runs_dir)
        (runs if is_run(place) else tasks).append(place)
    if comparing is not None and not runs:
        raise UsageError("--wrong-fixes compares what attempts wrote: expected a run, found none")
    audited: list[Audited] = []
    for folder in runs:
        run = open_run(folder)
        further = comparing.of(run, mirrors, glob) if comparing is not None else None
        audited.extend(audit_run(run, mirrors, glob=glob, further=further))
    if tasks:
        audited = [*_audited_tasks(tasks, mirrors, glob), *audited]
    return audited


def _place_of(path: str, runs_dir: Path) -> Path:
    """The folder that an argument means: what is there, else a run by its name.

    Raises:
        InputError: it is neither.
    """
    from agentbench.audit.run_folder import is_run
    from agentbench.runs.store import find_run

    place = Path(path)
    try:
        if place.is_file() or _holds_tasks(place) or is_run(place):
            return place
        if not place.exists():
            return find_run(path, runs_dir)
    except (OSError, ValueError) as error:  # a name too long, or one with a NUL
        raise InputError(f"{path!r}: cannot be read: {error}") from None
    except InputError:
        pass  # it is no run's name either; said below
    hint = "; give one of the runs in it" if any(place.glob("*/run.json")) else ""
    raise InputError(
        f"{path}: neither a run (run.json) nor a task (task.toml) or a folder of tasks{hint}"
    )


def _holds_tasks(place: Path) -> bool:
    return (place / "task.toml").exists() or any(place.glob("*/task.toml"))


def _audited_tasks(
    paths: "Sequence[Path]", mirrors: "Mirrors", glob: str | None
) -> "Iterator[Audited]":
    from agentbench.audit.task_facts import read_task_facts
    from agentbench.audit.tasks import audit_task
    from agentbench.cli.selection import select_tasks
    from agentbench.runs.places import usable_cache_dir

    for task in select_tasks(paths, cache_dir=usable_cache_dir(), glob=glob):
        yield audit_task(read_task_facts(task, mirrors))


def _document(
    audited: "Sequence[Audited]", counts: dict[FailOn, int], *, failed: bool
) -> dict[str, object]:
    return {
        "failed": failed,
        "counts": {level.value: count for level, count in counts.items()},
        "audited": [
            {
                "subject": one.subject.value,
                "name": one.name,
                "note": one.note,
                "findings": [finding.model_dump(mode="json") for finding in one.findings],
            }
            for one in audited
        ],
    }


def _summary(audited: "Sequence[Audited]", counts: dict[FailOn, int]) -> str:
    subjects: dict[str, int] = {}
    for one in audited:
        subjects[one.subject.value] = subjects.get(one.subject.value, 0) + 1
    looked = ", ".join(f"{n} {name}{'s' * (n != 1)}" for name, n in subjects.items())
    clean = sum(not one.findings for one in audited)
    found = ", ".join(f"{counts[level]} {level.value}" for level in reversed(FailOn))
    return f"{looked} audited, {clean} without a finding; {found}"


def _print(audited: "Sequence[Audited]") -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for one in audited:
        if one.findings:
            console.print(_heading(one), soft_wrap=True)
            width = max(len(finding.rule) for finding in one.findings)
            for finding in one.findings:
                console.print(_line(finding, width), soft_wrap=True)
    clean: dict[str, list[str]] = {}
    for one in audited:
        if not one.findings:
            clean.setdefault(one.subject.value, []).append(_plain(one.name))
    for subject, names in clean.items():
        line = f"{subject} without a finding: {', '.join(names)}"
        console.print(line, markup=False, soft_wrap=True)


def _heading(one: "Audited") -> "Text":
    from rich.text import Text

    note = f": {_plain(one.note)}" if one.note else ""
    return Text(f"{one.subject.value} {_plain(one.name)}{note}", style="bold")


def _line(finding: "Finding", width: int) -> "Text":
    from rich.text import Text

    level = finding.severity.value
    told = f"  {finding.rule:<{width}}  {_plain(finding.where)}: {_plain(finding.what)}"
    return Text.assemble((f"  {level:<8}", _STYLES[level]), told)


def _plain(text: str) -> str:
    from agentbench.report.harmless import harmless

    return harmless(text, limit=_LONGEST)
