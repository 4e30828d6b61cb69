"""`agentbench audit`: apply the rules of the audit to tasks and runs.

With --wrong-fixes it also compares resolved attempts with the reference fix.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.core import extras
from agentbench.core.display_text import counted, printable
from agentbench.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from agentbench.attempt.resources import RunResources
    from agentbench.audit.audit import FurtherFindings
    from agentbench.audit.rule import AuditResult
    from agentbench.audit.run_facts import RunFolder
    from agentbench.scoring.evidence import Finding
    from agentbench.tasks.mirror import Mirrors


_STYLES = {"info": "cyan", "warning": "yellow", "critical": "bold red"}
_MAX_CHARACTERS = 400

WrongFixesOption = Annotated[
    bool,
    typer.Option(
        "--wrong-fixes",
        help="Also compare what resolved attempts wrote with the reference fix, by running both "
        "in sandboxes.",
    ),
]
SandboxOption = Annotated[
    options.SandboxName | None,
    typer.Option("--sandbox", help="With --wrong-fixes: what to run in; else what the run had."),
]
SecondsOption = Annotated[
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
    wrong_fixes: WrongFixesOption = False,
    sandbox: SandboxOption = None,
    seconds: SecondsOption = 60,
    runs_dir: options.RunsDir = Path("runs"),
    filter_glob: options.Filter = None,
    as_json: options.Json = False,
) -> None:
    """Look through tasks and runs for known leaks.

    Reads only, and runs nothing of them, but with --wrong-fixes.

    Example: agentbench audit tasks/ --fail-on warning
    """
    from agentbench.runs.environment import usable_cache_dir
    from agentbench.tasks.mirror import Mirrors

    mirrors = Mirrors(usable_cache_dir() / "mirrors")
    comparing = DifferentialOptions.asked(sandbox, seconds) if wrong_fixes else None
    audited = _audit_all(paths, runs_dir, mirrors, filter_glob, comparing)
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


def _audit_all(
    paths: "Sequence[str]",
    runs_dir: Path,
    mirrors: "Mirrors",
    glob: str | None,
    comparing: "DifferentialOptions | None",
) -> "list[AuditResult]":
    from agentbench.audit.audit import audit_run
    from agentbench.audit.run_facts import is_run, open_run

    runs: list[Path] = []
    tasks: list[Path] = []
    for path in paths:
        place = _folder_for(path, runs_dir)
        (runs if is_run(place) else tasks).append(place)
    if comparing is not None and not runs:
        raise UsageError("--wrong-fixes compares what attempts wrote: expected a run, found none")
    audited: list[AuditResult] = []
    for folder in runs:
        run = open_run(folder)
        further = comparing.of(run, glob) if comparing is not None else None
        audited.extend(audit_run(run, mirrors, glob=glob, further=further))
    if tasks:
        audited = [*_audit_tasks(tasks, mirrors, glob), *audited]
    return audited


def _folder_for(path: str, runs_dir: Path) -> Path:
    """The folder that an argument means: what is there, else a run by its name."""
    from agentbench.audit.run_facts import is_run
    from agentbench.runs.store.store import find_run

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


def _holds_tasks(path: Path) -> bool:
    return (path / "task.toml").exists() or any(path.glob("*/task.toml"))


def _audit_tasks(
    paths: "Sequence[Path]", mirrors: "Mirrors", glob: str | None
) -> "Iterator[AuditResult]":
    from agentbench.audit.audit import audit_task
    from agentbench.audit.task_facts import read_task_facts
    from agentbench.cli.options import select_tasks
    from agentbench.runs.environment import usable_cache_dir

    for task in select_tasks(paths, cache_dir=usable_cache_dir(), glob=glob):
        yield audit_task(read_task_facts(task, mirrors))


def _document(
    audited: "Sequence[AuditResult]", counts: dict[FailOn, int], *, failed: bool
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


def _summary(audited: "Sequence[AuditResult]", counts: dict[FailOn, int]) -> str:
    subjects: dict[str, int] = {}
    for one in audited:
        subjects[one.subject.value] = subjects.get(one.subject.value, 0) + 1
    looked = ", ".join(counted(n, name) for name, n in subjects.items())
    clean = sum(not one.findings for one in audited)
    found = ", ".join(f"{counts[level]} {level.value}" for level in reversed(FailOn))
    return f"{looked} audited, {clean} without a finding; {found}"


def _print(audited: "Sequence[AuditResult]") -> None:
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


def _heading(one: "AuditResult") -> "Text":
    from rich.text import Text

    note = f": {printable(one.note, limit=_MAX_CHARACTERS)}" if one.note else ""
    return Text(f"{one.subject.value} {_plain(one.name)}{note}", style="bold")


def _line(finding: "Finding", width: int) -> "Text":
    from rich.text import Text

    level = finding.severity.value
    where, what = (printable(text, limit=_MAX_CHARACTERS) for text in (finding.where, finding.what))
    message = f"  {finding.rule:<{width}}  {where}: {what}"
    return Text.assemble((f"  {level:<8}", _STYLES[level]), message)


def _plain(text: str) -> str:
    return printable(text, limit=_MAX_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialOptions:
    """What was asked for."""

    sandbox: options.SandboxName | None
    seconds: float
    cache_dir: Path

    @classmethod
    def asked(cls, sandbox: options.SandboxName | None, seconds: float) -> "DifferentialOptions":
        """Check what is needed."""
        from agentbench.runs.environment import usable_cache_dir

        extras.require("audit --wrong-fixes", extras.SYMBOLIC)
        return cls(sandbox=sandbox, seconds=seconds, cache_dir=usable_cache_dir())

    def of(self, run: "RunFolder", glob: str | None) -> "FurtherFindings | None":
        """What compares the attempts of a run; `None` where none was resolved."""
        from agentbench.audit.audit import is_selected
        from agentbench.audit.differential.differential_audit import DifferentialAudit

        number = sum(one.resolved for one in run.latest if is_selected(one.task_id, glob))
        name = run.configuration.run_id
        if number == 0:
            say_line(f"{name}: no attempt was resolved: there is nothing to compare")
            return None
        resources = self._resources(run)
        say_line(
            f"{name}: comparing {counted(number, 'resolved attempt')} in "
            f"{resources.provider.name}, {self.seconds:g} s each at most for the search"
        )
        return DifferentialAudit(
            resources=resources, cache_dir=self.cache_dir, seconds=self.seconds, say=say_line
        ).findings

    def _resources(self, run: "RunFolder") -> "RunResources":
        from agentbench.attempt.resources import RunResources
        from agentbench.attempt.settings import RunSettings
        from agentbench.sandbox.registry import select_back_end

        name = run.configuration.sandbox if self.sandbox is None else self.sandbox.value
        chosen = select_back_end(name, cache_dir=self.cache_dir)
        for warning in chosen.warnings:
            say_line(f"warning: {warning}")
        return RunResources.of(chosen.provider, RunSettings(), cache_dir=self.cache_dir)
