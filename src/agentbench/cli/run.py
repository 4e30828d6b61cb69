"""`agentbench run`, `resume` and `rescore`: start a run, continue it, judge it again."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.attempt.executor_name import ExecutorName
from agentbench.cli import completion, options
from agentbench.cli.run_execution import execute_run, print_warnings, say_line, say_nothing
from agentbench.core.display_text import counted, printable
from agentbench.core.host import usable_cache_dir
from agentbench.errors import InputError, UsageError
from agentbench.sandbox.back_ends import SandboxName
from agentbench.tasks.control_level import ControlLevel

if TYPE_CHECKING:
    from agentbench.runs.rerun import FailedAttempts
    from agentbench.runs.store.configuration import RunConfiguration, TaskEntry, TaskQuality
    from agentbench.tasks.problem import TaskId
    from agentbench.tasks.task import Task

_MAX_IMAGES_NAMED = 5  # kinds of image

RunName = Annotated[
    str,
    typer.Argument(
        help="A run's folder, its id, or 'last'.",
        metavar="RUN",
        show_default=True,
        autocompletion=completion.run_names,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The agent of a run, and its model."""

    agent: Annotated[
        str | None,
        options.agent_option(
            "-a",
            "--agent",
            help="oracle, noop, command, llm, a preset (`agents list`), predictions:FILE, or "
            "package.module:attribute. Required without --agent-command.",
            autocompletion=completion.agent_names,
        ),
    ] = None
    agent_command: Annotated[
        str | None,
        options.agent_option(
            "--agent-command",
            help="The shell command of --agent command (implied). Its program is in the sandbox, "
            "or a file of this machine, as in './fix.sh'.",
        ),
    ] = None
    agent_files: Annotated[
        list[Path] | None,
        options.agent_option(
            "--agent-files",
            help="A file or folder that --agent-command uses; mounted read-only, and on PATH "
            "(repeatable).",
            metavar="PATH",
        ),
    ] = None
    model: options.Model = None
    base_url: options.BaseUrl = None
    prices: options.Prices = None
    no_probe: options.NoProbe = False
    record: options.Record = None
    replay: options.Replay = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSelection(options.TaskFilters):
    """The tasks of a run: named by paths, or those that an earlier run did not resolve."""

    tasks: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Task folders, folders of task folders, or suite files; none with --rerun-failed.",
            show_default=False,
        ),
    ] = None
    dataset: Annotated[
        str | None,
        options.task_option(
            "-d",
            "--dataset",
            help="A published set instead of TASKS: a name of `tasks sets`, owner/name on the "
            "Hugging Face Hub, a file of its rows, or NAME@VERSION of Harbor. Imports what "
            "the filters, --sample and --limit select, and keeps it for the next run.",
            metavar="NAME",
        ),
    ] = None
    repos: Annotated[
        Path | None,
        options.task_option(
            "--repos",
            help="Directory of local clones (owner/name) for -d; others are cloned from GitHub.",
        ),
    ] = None
    rerun_failed: Annotated[
        str | None,
        options.task_option(
            "--rerun-failed",
            help="Repeat the unresolved attempts of this run (its folder, its id or 'last') in a "
            "new run, with its options unless others are given.",
            metavar="RUN",
            autocompletion=completion.run_names,
        ),
    ] = None

    exclude_unfair: Annotated[
        bool,
        options.task_option(
            "--exclude-unfair",
            help="Leave out tasks whose tests reject right fixes, as proof.json knows from "
            "validate --fairness.",
        ),
    ] = False

    def failed_attempts(self, runs_dir: Path) -> "FailedAttempts | None":
        """The attempts of the earlier run, if one is named.

        Raises:
            UsageError: neither tasks nor a run are named, or both; or there is nothing to rerun.
            InputError: there is no such run.
        """
        if self.repos is not None and self.dataset is None:
            raise UsageError("--repos belongs to -d; a task folder names its own repository")
        if self.dataset is not None and (self.tasks or self.rerun_failed or self.tag):
            raise UsageError("-d excludes TASKS, --rerun-failed and --tag; select with --filter")
        self.check()
        if self.rerun_failed is None:
            if not self.tasks and self.dataset is None:
                raise UsageError(
                    "TASKS is missing: name task folders, -d SET or --rerun-failed RUN"
                )
            return None
        if self.tasks:
            raise UsageError(
                "--rerun-failed takes the tasks of its run and excludes TASKS; select some of "
                "them with --filter"
            )
        from agentbench.runs.rerun import FailedAttempts
        from agentbench.runs.store.store import find_run

        return FailedAttempts.of_run(find_run(self.rerun_failed, runs_dir))

    def with_set(self, validation: options.ValidationOptions) -> "RunSelection":
        """The same with the tasks of the data set, if one is named, imported and validated.

        Raises:
            InputError: there is no such set, or none of its selected tasks can be judged here.
            UnavailableError: its publisher or the sandbox cannot be reached.
            UsageError: no set has such a name, or a library is missing.
            Exit: the import was interrupted.
        """
        if self.dataset is None:
            return self
        from agentbench.cli.tasks.sets import fetch_set

        folders = fetch_set(self.dataset, self.select_ids, repos=self.repos, validation=validation)
        # The filters have selected; a limit must not count the tasks that are left out again.
        return RunSelection(tasks=folders, exclude_unfair=self.exclude_unfair)

    def load(self, cache_dir: Path, failed: "FailedAttempts | None") -> "list[Task]":
        """Load and filter the tasks; prints warnings on stderr.

        Raises:
            InputError: a task is wrong or gone, or none is left.
        """
        from agentbench.tasks.loading import load_tasks
        from agentbench.tasks.mirror import Mirrors

        mirrors = Mirrors(cache_dir / "mirrors")
        if failed is not None:
            return self.select(failed.load_tasks(mirrors))
        return self.select(load_tasks(self.tasks or (), mirrors=mirrors))

    def without_unfair(
        self, tasks: "Sequence[Task]", qualities: "Mapping[TaskId, TaskQuality]"
    ) -> "list[Task]":
        """The tasks without unfair ones, if that is asked for; says which on stderr.

        Raises:
            InputError: none is left.
        """
        from agentbench.report.unfair_tasks import TaskQualities

        if not self.exclude_unfair:
            return list(tasks)
        known = TaskQualities(by_task=qualities)
        typer.echo(f"excluded: {printable(known.exclusion_text(), limit=1000)}", err=True)
        fair = [task for task in tasks if task.id not in known.unfair]
        if not fair:
            raise InputError(
                "--exclude-unfair: the tests of every selected task reject right fixes"
            )
        return fair


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOptions:
    """How attempts are made."""

    attempts: Annotated[
        int,
        options.attempt_option("-k", "--attempts", help="Attempts per task.", min=1),
    ] = 1
    shuffle: Annotated[
        int | None,
        options.attempt_option("--shuffle", help="Shuffle the tasks with this seed."),
    ] = None
    tell_limits: Annotated[
        bool,
        options.attempt_option(
            "--tell-limits", help="End each instruction with the limits of the agent."
        ),
    ] = False
    timeline: Annotated[
        bool,
        options.attempt_option(
            "--timeline",
            help="Note the states of the agent's work, and judge them afterwards: when it solved "
            "the task, and when it lost that again.",
        ),
    ] = False
    timeline_judgements: Annotated[
        int,
        options.attempt_option(
            "--timeline-judgements", help="With --timeline: the most states to judge.", min=2
        ),
    ] = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """The limits of a run, of which `fail_under` decides only its exit code."""

    max_outage: Annotated[
        timedelta | None,
        options.duration_option(
            "--max-outage",
            "How long to wait for an unavailable engine, model (default: 15m) or disk (1m).",
            bare_unit="m",
            rich_help_panel=options.Panel.LIMITS,
        ),
    ] = None
    agent_timeout: Annotated[
        timedelta | None,
        options.duration_option(
            "--agent-timeout",
            "The limit for the agent's work, such as 90s or 2h; the final test still follows. "
            "Default: each task's own.",
            bare_unit="s",
            rich_help_panel=options.Panel.LIMITS,
        ),
    ] = None
    attempt_timeout: Annotated[
        timedelta | None,
        options.duration_option(
            "--attempt-timeout",
            "The limit for a whole attempt, such as 90s or 2h, after which nothing is tested; "
            "default: the sum of its stages' limits and a margin.",
            bare_unit="s",
            rich_help_panel=options.Panel.LIMITS,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        options.number_option(
            "--max-cost",
            "Start no further attempts once this many USD are spent.",
            rich_help_panel=options.Panel.LIMITS,
        ),
    ] = None
    max_failures: Annotated[
        int | None,
        options.limit_option(
            "-x",
            "--max-failures",
            help="Start no further attempts once this many are not resolved, and exit with code 1; "
            "infrastructure failures do not count.",
            min=1,
        ),
    ] = None
    fail_under: Annotated[
        float | None,
        options.rate_option(
            "--fail-under",
            "Exit with code 1 below this resolved rate, such as 80%.",
            rich_help_panel=options.Panel.LIMITS,
        ),
    ] = None


@options.expand_groups
def run(
    ctx: typer.Context,
    *,
    selection: RunSelection,
    agent: AgentOptions,
    attempt: AttemptOptions,
    jobs: options.Jobs = "auto",
    executor: options.Executor = ExecutorName.LOCAL,
    sandbox: options.Sandbox = SandboxName.AUTO,
    retries: options.Retries = 2,
    preparation: options.PreparationOptions,
    limits: LimitOptions,
    integrity_controls: Annotated[
        ControlLevel | None,
        options.attempt_option("--integrity-controls", help="Overrides the tasks' own setting."),
    ] = None,
    allow_unsandboxed: options.AllowUnsandboxed = False,
    allow_env: options.AllowEnv = None,
    runs_dir: options.RunsDir = Path("runs"),
    run_id: Annotated[
        str | None,
        options.output_option("--run-id", help="The run's name; default: time-ordered."),
    ] = None,
    note: Annotated[
        str | None,
        options.output_option(
            "--note", help="A line about the run, for `agentbench runs` and reports."
        ),
    ] = None,
    run_tag: Annotated[
        list[str] | None,
        options.output_option(
            "--run-tag", help="A tag of the run, for `agentbench runs` (repeatable)."
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Run every task under TASKS, or of a published set, with one agent, and judge the results.

    Example: agentbench run tasks/ --agent-command ./fix.sh -k 3
    """
    from agentbench.runs.argument_names import argument_of
    from agentbench.runs.components import agent_of
    from agentbench.runs.options import RunOptions
    from agentbench.runs.start import check_solutions
    from agentbench.validation.stored_proof import read_proof
    from agentbench.validation.task_quality import quality_in_proof

    cache_dir = usable_cache_dir()
    # fmt: off
    run_options = RunOptions(
        agent=agent.agent, agent_command=agent.agent_command,
        agent_files=tuple(agent.agent_files or ()),
        model=agent.model, base_url=agent.base_url, prices=agent.prices,
        probe=not agent.no_probe, record=agent.record, replay=agent.replay,
        attempts=attempt.attempts, jobs=options.parse_jobs(jobs), executor=executor,
        sandbox=sandbox.value,
        runs_dir=runs_dir, run_id=run_id, retries=retries, allow_env=tuple(allow_env or ()),
        use_cache=not preparation.no_cache, registry=preparation.registry,
        runtime=preparation.runtime,
        max_outage=limits.max_outage, agent_timeout=limits.agent_timeout,
        attempt_timeout=limits.attempt_timeout,
        timeout_scale=preparation.timeout_scale,
        max_cost_usd=limits.max_cost, max_failures=limits.max_failures,
        shuffle_seed=attempt.shuffle, tell_limits=attempt.tell_limits, timeline=attempt.timeline,
        note=note, tags=tuple(run_tag or ()),
        timeline_judgements=attempt.timeline_judgements,
        integrity_controls=integrity_controls, allow_unsandboxed=allow_unsandboxed,
        cache_dir=cache_dir, say=say_nothing if quiet else say_line,
    )
    # fmt: on
    failed = selection.failed_attempts(runs_dir)
    if selection.dataset is not None:
        # Before an import that may take hours; without tasks, the oracle needs no solution.
        run_options.check()
        agent_of(run_options, [])
    validation = options.ValidationOptions(
        jobs=jobs, sandbox=sandbox, allow_env=allow_env, runs_dir=runs_dir,
        quiet=quiet, verbose=verbose,
    )  # fmt: skip
    selected = selection.with_set(validation).load(cache_dir, failed)
    if failed is None:
        check_solutions(agent.agent, selected)
    qualities = {
        task.id: quality_in_proof(read_proof(task.folder, digest=task.digest)) for task in selected
    }
    selected = selection.without_unfair(selected, qualities)
    from agentbench.runs.start import start_run

    if failed is not None:
        # A rerun has the options of its run, except those that the user gave.
        sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
        # The defaults of a file are not given: they would change what is repeated.
        defaults = {"DEFAULT", "DEFAULT_MAP"}
        names = [each for each, source in sources.items() if source and source.name not in defaults]
        given = {argument_of(name) for name in names}
        run_options = failed.options(run_options, given=given)
    started = start_run(selected, run_options, rerun=failed, qualities=qualities)
    if not quiet:
        if ctx.default_map:
            flags = [each.opts[-1] for each in ctx.command.params if each.name in ctx.default_map]
            typer.echo(f"defaults from a file: {', '.join(sorted(flags))}", err=True)
        _announce(started.configuration)
    fail_under = limits.fail_under
    execute_run(started, as_json=as_json, quiet=quiet, verbose=verbose, fail_under=fail_under)


def _announce(configuration: "RunConfiguration") -> None:
    typer.echo(f"sandbox: {configuration.sandbox} ({configuration.sandbox_reason})", err=True)
    typer.echo(interpreter_line(configuration.tasks), err=True)
    if configuration.rerun_of is not None:
        attempts = counted(configuration.planned_attempts, "attempt")
        typer.echo(
            f"rerun of {configuration.rerun_of}: {attempts} that it did not resolve", err=True
        )
    # A rate of 100 % without a word would look as if an agent had worked.
    if configuration.agent == "oracle":
        typer.echo("agent: oracle (the reference solution, not an agent)", err=True)


def interpreter_line(tasks: "Sequence[TaskEntry]") -> str:
    """A line with each image and its Python; those of most tasks come first."""
    names = []
    for task in tasks:
        if task.image is None:
            python = "not known yet" if task.python is None else f"{task.python} of this machine"
            names.append(python)
        else:
            names.append(f"{task.python or 'that'} of {printable(task.image)}")
    kinds = Counter(names).most_common()
    counts = [f"{name} for {counted(count, 'task')}" for name, count in kinds[:_MAX_IMAGES_NAMED]]
    if len(kinds) == 1:
        counts = [kinds[0][0]]
    if len(kinds) > _MAX_IMAGES_NAMED:
        counts.append(f"{len(kinds) - _MAX_IMAGES_NAMED} more")
    return f"python: {', '.join(counts)}"


def resume(
    run: RunName = "last",
    retry_lost: Annotated[
        bool,
        options.attempt_option(
            "--retry-lost",
            help="Rerun attempts that failed because of infrastructure after all retries.",
        ),
    ] = False,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Continue an interrupted run: finished attempts are kept, the others are repeated.

    Example: agentbench resume last
    """
    from agentbench.runs.start import resume_run
    from agentbench.runs.store.store import find_run

    resumed = resume_run(
        find_run(run, runs_dir),
        cache_dir=usable_cache_dir(),
        retry_lost=retry_lost,
        say=say_nothing if quiet else say_line,
    )
    if not quiet:
        typer.echo(f"{counted(len(resumed.planned), 'attempt')} to make", err=True)
    execute_run(resumed, as_json=as_json, quiet=quiet, verbose=verbose)


def rescore(
    run: RunName = "last",
    write: Annotated[
        bool, typer.Option("--write", help="Append the changed records to the run.")
    ] = False,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """Judge a run's records again with the current rules, and show the changes.

    Example: agentbench rescore last
    """
    from agentbench.attempt.record import rescore as judged_again
    from agentbench.runs.store.reading import read_run
    from agentbench.runs.store.store import RunStore, find_run

    store = RunStore.open(find_run(run, runs_dir))
    reading = read_run(store.folder)
    print_warnings(reading.warnings())
    latest = reading.latest()
    changed: list[dict[str, object]] = []
    for before in reading.records(latest):
        after = judged_again(before)
        if after == before:
            continue
        changed.append(
            {
                "task_id": before.task_id,
                "attempt": before.attempt,
                "before": before.failure_reason,
                "after": after.failure_reason,
                "resolved_before": before.resolved,
                "resolved_after": after.resolved,
            }
        )
        if write:
            # Appended after the lines that this loop has not read yet, so they are not lost.
            store.append(after, store.rescored_folder(after))
    if as_json:
        typer.echo(json.dumps({"judged": len(latest), "changed": changed}, indent=1))
        return
    for row in changed:
        was, now = row["before"] or "resolved", row["after"] or "resolved"
        typer.echo(f"{row['task_id']} attempt {row['attempt']}: {was} -> {now}")
    typer.echo(f"{len(changed)} of {len(latest)} verdicts change", err=True)
