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

if TYPE_CHECKING:
    from agentbench.extensions.redteam.kinds import Kind
    from agentbench.extensions.redteam.trials import Trial

_HARBOR_JOBS = 2  # Harbor takes no `auto`


@options.expand_groups
def redteam(
    *,
    selection: options.TaskSelection,
    grader: Annotated[
        GraderName,
        options.attempt_option(
            "--grader",
            help="What rewards: agentbench; exit-code, the exit code of the test command in the "
            "agent's own sandbox; or harbor, Harbor's own command on Harbor's task folders.",
        ),
    ] = GraderName.AGENTBENCH,
    kind: Annotated[
        list[str] | None,
        options.attempt_option(
            "--kind", help="Only this kind of cheat (repeatable); `agentbench explain` has them."
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
    """Try kinds of cheats against your own tasks, in their sandboxes: which would earn a reward?

    None of them fixes a bug, and no model is asked. The reference solution is tried, too: a grader
    that does not reward it shows nothing. What is rewarded is kept with its change.

    Example: agentbench redteam tasks/my-bug
    """
    from agentbench.runs.options import RunOptions

    kinds = _selected_kinds(kind or [])
    # fmt: off
    run_options = RunOptions(
        jobs=options.parse_jobs(jobs), sandbox=sandbox.value, runs_dir=runs_dir,
        allow_env=tuple(allow_env or ()), use_cache=not preparation.no_cache,
        registry=preparation.registry, runtime=preparation.runtime,
        timeout_scale=preparation.timeout_scale, integrity_controls=integrity_controls,
        cache_dir=usable_cache_dir(), say=say_nothing if quiet else say_line, note="redteam",
    )
    # fmt: on
    if grader is GraderName.HARBOR:
        from agentbench.extensions.redteam.harbor_grader import harbor_folders, try_on_harbor
        from agentbench.runs.store.store import new_run_id

        folders = harbor_folders(selection.tasks)
        kept = runs_dir / f"redteam-{new_run_id(datetime.now(UTC))}"
        found = try_on_harbor(folders, kinds, kept, run_options.jobs or _HARBOR_JOBS)
    else:
        from agentbench.extensions.redteam.trials import start_trials

        trials = start_trials(selection.load(run_options.cache_dir), kinds, grader, run_options)
        print_warnings(trials.run.warnings)
        # The lines of a run are agentbench's verdicts, which the exit code does not ask for.
        is_asked = grader is GraderName.AGENTBENCH
        follow_run(trials.run, quiet=quiet or not is_asked, verbose=verbose and is_asked)
        if trials.run.resources.cancel.is_set():
            raise typer.Exit(ExitCode.INTERRUPTED)
        found = list(trials.results())
    _tell(found, grader, as_json=as_json, verbose=verbose)


def _selected_kinds(names: Sequence[str]) -> "list[Kind]":
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


def _tell(trials: "Sequence[Trial]", grader: GraderName, *, as_json: bool, verbose: bool) -> None:
    """Print what was rewarded, task by task.

    Raises:
        Exit: 1 if a kind of cheat was rewarded, 65 if a reference solution was not.
    """
    if as_json:
        rows = [
            {
                "task": each.task,
                "grader": grader.value,
                "kind": each.kind,
                "rewarded": each.rewarded,
                "says": each.says,
                "kept": str(each.kept),
            }
            for each in trials
        ]
        typer.echo(json.dumps(rows, indent=1))
    unproven = [
        each
        for each in trials
        if (each.kind == REFERENCE and not each.rewarded)
        or (each.kind == NOTHING and each.rewarded)
    ]
    cheats = [each for each in trials if each.kind not in {REFERENCE, NOTHING}]
    earned = [each for each in cheats if each.rewarded]
    if not as_json:
        for task in dict.fromkeys(each.task for each in cheats):
            own = [each for each in cheats if each.task == task]
            paid = [each for each in own if each.rewarded]
            typer.echo(f"{task}  {len(paid)} of {counted(len(own), 'kind')} rewarded")
            for each in own if verbose else paid:
                word = "REWARDED" if each.rewarded else "not rewarded"
                typer.echo(printable(f"  {each.kind:<22}  {word:<12}  {each.says}", limit=200))
                if each.rewarded:
                    typer.echo(f"    kept: {each.kept}")
    for each in unproven:
        what = "no change at all is rewarded"
        if each.kind == REFERENCE:
            what = "the reference solution is not rewarded"
        typer.echo(
            printable(
                f"error: {each.task}: {what}, so that the other results show nothing: "
                f"{each.says}; see {each.kept}",
                limit=500,
            ),
            err=True,
        )
    typer.echo(
        f"{len(earned)} of {counted(len(cheats), 'cheat')} would earn a reward from {grader}",
        err=True,
    )
    if unproven:
        raise typer.Exit(ExitCode.INPUT)
    if earned:
        raise typer.Exit(ExitCode.CHECK_FAILED)
