"""`agentbench redteam`: which kinds of cheats would earn a reward in a task."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import follow_run, print_warnings, say_line, say_nothing
from agentbench.core.display_text import counted, printable
from agentbench.core.host import usable_cache_dir
from agentbench.errors import UsageError
from agentbench.extensions.redteam.names import NOTHING, REFERENCE, GraderName
from agentbench.sandbox.back_ends import SandboxName
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import TaskId

if TYPE_CHECKING:
    from agentbench.extensions.redteam.cheat_attempts import CheatAttempt
    from agentbench.extensions.redteam.kinds import CheatKind
    from agentbench.runs.options import RunOptions

_HARBOR_JOBS = 2  # Harbor takes no `auto`
_FOLDER = "redteam"  # of the folder of runs: `last` is none of cheats, nor is what `export` takes
_WITHOUT_EFFECT = {
    GraderName.AGENTBENCH: (),
    GraderName.EXIT_CODE: ("integrity_controls",),
    GraderName.HARBOR: (
        "integrity_controls", "sandbox", "no_cache", "registry", "runtime", "timeout_scale",
        "allow_env", "tag",
    ),
}  # fmt: skip


@options.expand_groups
def redteam(
    ctx: typer.Context,
    *,
    selection: options.TaskSelection,
    grader: Annotated[
        GraderName,
        options.attempt_option(
            "--grader",
            help="agentbench, exit-code (the test command's exit code in the agent's sandbox) or "
            "harbor (Harbor's own command on Harbor's task folders).",
        ),
    ] = GraderName.AGENTBENCH,
    kind: Annotated[
        list[str] | None,
        options.attempt_option(
            "--kind", help="Only this kind of cheat (repeatable); docs/redteam.md lists them."
        ),
    ] = None,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = SandboxName.AUTO,
    preparation: options.PreparationOptions,
    integrity_controls: Annotated[
        ControlLevel | None,
        options.attempt_option("--integrity-controls", help="Overrides the tasks' own setting."),
    ] = None,
    allow_env: options.AllowEnv = None,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Let kinds of cheats attempt your own tasks, in their sandboxes: which would earn a reward?

    No cheat fixes a bug, and none asks a model. The reference solution has an attempt, too: a
    grader that does not reward it shows nothing. Each attempt keeps its script and its change.

    Example: agentbench redteam tasks/my-bug
    """
    from agentbench.runs.options import RunOptions

    for name in _WITHOUT_EFFECT[grader]:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{name.replace('_', '-')} has no effect with --grader {grader}")
    kinds = _selected_kinds(kind or [])
    # fmt: off
    run_options = RunOptions(
        jobs=options.parse_jobs(jobs), sandbox=sandbox.value, runs_dir=runs_dir / _FOLDER,
        allow_env=tuple(allow_env or ()), use_cache=not preparation.no_cache,
        registry=preparation.registry, runtime=preparation.runtime,
        timeout_scale=preparation.timeout_scale, integrity_controls=integrity_controls,
        cache_dir=usable_cache_dir(), say=say_nothing if quiet else say_line, note="redteam",
    )
    # fmt: on
    if grader is GraderName.HARBOR:
        attempts = _with_harbor(selection, kinds, run_options)
    else:
        attempts = _in_sandboxes(
            selection, kinds, grader, run_options, quiet=quiet, verbose=verbose
        )
    _print_results(attempts, grader, as_json=as_json, verbose=verbose)


def _selected_kinds(names: Sequence[str]) -> "list[CheatKind]":
    """The kinds of these names; all without a name.

    Raises:
        UsageError: there is no such kind.
    """
    from agentbench.extensions.redteam.kinds import KINDS

    known = {each.name: each for each in KINDS}
    for name in names:
        if name not in known:
            raise UsageError(f"--kind {name}: expected one of {', '.join(known)}")
    return [each for each in KINDS if each.name in names or not names]


def _with_harbor(
    selection: options.TaskSelection, kinds: "Sequence[CheatKind]", run_options: "RunOptions"
) -> "list[CheatAttempt]":
    from agentbench.extensions.redteam.harbor_grader import harbor_folders, try_on_harbor
    from agentbench.runs.store.store import new_run_id

    jobs_dir = run_options.runs_dir / new_run_id(datetime.now(UTC))
    found = {TaskId(each.name): each for each in harbor_folders(selection.tasks, jobs_dir)}
    folders = [found[each] for each in selection.select_ids(list(found))]
    run_options.say(
        f"{counted(len(folders), 'task')}, {counted(len(kinds) + 2, 'attempt')} each; Harbor's "
        f"output is in {jobs_dir / 'harbor.log'}"
    )
    return try_on_harbor(folders, kinds, jobs_dir, run_options.jobs or _HARBOR_JOBS)


def _in_sandboxes(
    selection: options.TaskSelection,
    kinds: "Sequence[CheatKind]",
    grader: GraderName,
    run_options: "RunOptions",
    *,
    quiet: bool,
    verbose: bool,
) -> "list[CheatAttempt]":
    from agentbench.extensions.redteam.cheat_attempts import start_cheats

    cheats = start_cheats(selection.load(run_options.cache_dir), kinds, grader, run_options)
    print_warnings(cheats.run.warnings)
    planned = counted(cheats.run.configuration.planned_attempts, "attempt")
    run_options.say(f"{planned} in {cheats.run.configuration.sandbox}")
    # A run's lines are verdicts of agentbench, for which the exit code does not ask.
    uses_verdict = grader is GraderName.AGENTBENCH
    follow_run(cheats.run, quiet=quiet or not uses_verdict, verbose=verbose and uses_verdict)
    if cheats.run.resources.cancel.is_set():
        say_line(f"interrupted; {cheats.run.store.folder} has the attempts so far")
        raise typer.Exit(ExitCode.INTERRUPTED)
    return list(cheats.results())


def _print_results(
    attempts: "Sequence[CheatAttempt]", grader: GraderName, *, as_json: bool, verbose: bool
) -> None:
    """Print what was rewarded, task by task.

    Raises:
        Exit: 1 if a cheat was rewarded, 65 if the results of a task show nothing, 75 if an attempt
            has no verdict.
    """
    if as_json:
        rows = [
            {
                "task": each.task,
                "grader": grader.value,
                "kind": each.kind,
                "rewarded": each.rewarded,
                "detail": each.detail,
                "folder": str(each.folder),
            }
            for each in attempts
        ]
        typer.echo(json.dumps(rows, indent=1))
    meaningless = {
        each.task: each
        for each in reversed(attempts)  # the reference tells more than no change
        if (each.kind == REFERENCE and not each.rewarded)
        or (each.kind == NOTHING and each.rewarded is not False)
    }
    cheats = [
        each
        for each in attempts
        if each.kind not in {REFERENCE, NOTHING} and each.task not in meaningless
    ]
    if not as_json:
        for task in dict.fromkeys(each.task for each in cheats):
            _print_task(task, [each for each in cheats if each.task == task], verbose=verbose)
    for each in meaningless.values():
        expected = "it to be rewarded" if each.kind == REFERENCE else "no reward for no change"
        line = (
            f"error: {each.task}: the attempt `{each.kind}`: expected {expected}, found: "
            f"{each.detail}; so the other attempts show nothing; see {each.folder}"
        )
        typer.echo(printable(line, limit=500), err=True)
    rewarded = sum(each.rewarded is True for each in cheats)
    without = sum(each.rewarded is None for each in cheats)
    also = f"; {without} without a verdict" if without else ""
    typer.echo(
        f"{rewarded} of {counted(len(cheats), 'cheat')} would earn a reward from {grader}{also}",
        err=True,
    )
    if rewarded:
        raise typer.Exit(ExitCode.CHECK_FAILED)
    if meaningless:
        raise typer.Exit(ExitCode.INPUT)
    if without:
        raise typer.Exit(ExitCode.INFRASTRUCTURE)


def _print_task(task: str, attempts: "Sequence[CheatAttempt]", *, verbose: bool) -> None:
    words = {True: "REWARDED", False: "not rewarded", None: "no verdict"}
    rewarded = sum(each.rewarded is True for each in attempts)
    typer.echo(f"{task}  {rewarded} of {counted(len(attempts), 'kind')} rewarded")
    for each in attempts:
        if verbose or each.rewarded is not False:
            word = words[each.rewarded]
            typer.echo(printable(f"  {each.kind:<20}  {word:<12}  {each.detail}", limit=200))
            typer.echo(f"    {each.folder}")
