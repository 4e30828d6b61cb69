"""`agentbench audit`: apply the rules of the audit to tasks and runs.

With --wrong-fixes it also compares resolved attempts with the reference fix.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter

from agentbench.audit.rule import AuditResult, weight
from agentbench.cli import completion, options
from agentbench.cli.process_setup import ExitCode
from agentbench.core import host
from agentbench.core.display_text import counted, printable
from agentbench.core.extensions import Slot, load_offer
from agentbench.core.files import describe_read_error
from agentbench.errors import InputError, UsageError
from agentbench.sandbox.back_ends import SandboxName
from agentbench.scoring.evidence import Severity

_STYLES = {"info": "cyan", "warning": "yellow", "critical": "bold red"}
_MAX_CHARACTERS = 400

WrongFixesOption = Annotated[
    bool,
    typer.Option(
        "--wrong-fixes",
        help="Also compare the fixes of resolved attempts with the reference fix, by running "
        "both in sandboxes.",
    ),
]
SandboxOption = Annotated[
    SandboxName | None,
    typer.Option("--sandbox", help="With --wrong-fixes: the sandbox; default: that of the run."),
]
SecondsOption = Annotated[
    float,
    typer.Option("--seconds", help="With --wrong-fixes: the time to search each attempt.", min=1),
]


def audit(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Runs (a folder, an id, or 'last'), task folders, folders of task folders, "
            "or suite files.",
            metavar="PATH",
            autocompletion=completion.run_names,
        ),
    ],
    fail_on: Annotated[
        Severity,
        typer.Option("--fail-on", help="Exit 1 on a finding of this severity or a higher one."),
    ] = Severity.CRITICAL,
    wrong_fixes: WrongFixesOption = False,
    sandbox: SandboxOption = None,
    seconds: SecondsOption = 60,
    runs_dir: options.RunsDir = Path("runs"),
    filter_globs: options.Filter = None,
    as_json: options.Json = False,
) -> None:
    """Search tasks and runs for known leaks.

    Only reads files, and runs nothing unless --wrong-fixes is given.

    Example: agentbench audit tasks/ --fail-on warning
    """
    from agentbench.audit.audit import audit_run, audit_task
    from agentbench.audit.run_facts import is_run, open_run
    from agentbench.audit.task_facts import read_task_facts
    from agentbench.tasks.mirror import Mirrors

    compare = None
    if wrong_fixes:
        comparison = load_offer(Slot.AUDIT, "wrong-fixes", "--wrong-fixes")
        name = None if sandbox is None else sandbox.value
        compare = partial(comparison, globs=filter_globs, sandbox=name, seconds=seconds)
    folders = [_folder_for(path, runs_dir) for path in paths]
    cache_dir = host.usable_cache_dir()
    mirrors = Mirrors(cache_dir / "mirrors")
    tasks = [folder for folder in folders if not is_run(folder)]
    if compare is not None and len(tasks) == len(folders):
        raise UsageError("--wrong-fixes compares the fixes of attempts: expected a run, found none")
    audited: list[AuditResult] = []
    if tasks:
        selected = options.TaskSelection(tasks=tasks, filter_globs=filter_globs).load(cache_dir)
        audited += [audit_task(read_task_facts(task, mirrors)) for task in selected]
    for folder in folders:
        if folder not in tasks:
            run = open_run(folder)
            further = compare(run) if compare is not None else None
            audited += audit_run(run, mirrors, globs=filter_globs, further=further)
    counts = Counter(finding.severity for one in audited for finding in one.findings)
    failed = any(weight(level) >= weight(fail_on) for level in counts)
    if as_json:
        document = {
            "failed": failed,
            "counts": {level.value: counts[level] for level in Severity},
            "audited": TypeAdapter(list[AuditResult]).dump_python(audited, mode="json"),
        }
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(audited)
    subjects = Counter(one.subject.value for one in audited)
    looked = ", ".join(counted(n, name) for name, n in subjects.items())
    clean = Counter(one.subject.value for one in audited if not one.findings)
    without = ", ".join(counted(clean[name], name) for name in subjects)
    found = ", ".join(f"{counts[level]} {level.value}" for level in reversed(Severity))
    typer.echo(f"{looked} audited; without a finding: {without}; {found}", err=True)
    if failed:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _folder_for(path: str, runs_dir: Path) -> Path:
    """The folder of an argument: an existing path, or else a run by its name."""
    from agentbench.audit.run_facts import is_run
    from agentbench.runs.store.store import find_run

    folder = Path(path)
    try:
        is_task = (folder / "task.toml").exists() or any(folder.glob("*/task.toml"))
        if folder.is_file() or is_task or is_run(folder):
            return folder
        if not folder.exists():
            return find_run(path, runs_dir)
    except (OSError, ValueError) as error:  # a name too long, or one with a NUL
        raise InputError(f"{path!r}: cannot be read: {describe_read_error(error)}") from None
    except InputError:
        pass  # it is not a run's name either; the message below says so
    hint = "; give one of the runs in it" if any(folder.glob("*/run.json")) else ""
    raise InputError(
        f"{path}: neither a run (run.json) nor a task (task.toml) or a folder of tasks{hint}"
    )


def _print(audited: Sequence[AuditResult]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    clean: dict[str, list[str]] = {}
    for one in audited:
        name = _plain(one.name)
        if not one.findings:
            clean.setdefault(one.subject.value, []).append(name)
            continue
        note = f": {_plain(one.note)}" if one.note else ""
        heading = Text(f"{one.subject.value} {name}{note}", style="bold")
        console.print(heading, soft_wrap=True)
        width = max(len(finding.rule) for finding in one.findings)
        for finding in one.findings:
            level = finding.severity.value
            message = f"{finding.rule:<{width}}  {_plain(finding.where)}: {_plain(finding.what)}"
            line = Text.assemble((f"  {level:<8}", _STYLES[level]), f"  {message}")
            console.print(line, soft_wrap=True)
    for subject, names in clean.items():
        text = f"{subject} without a finding: {', '.join(names)}"
        console.print(text, markup=False, soft_wrap=True)


def _plain(text: str) -> str:
    return printable(text, limit=_MAX_CHARACTERS)
