"""Starts a run.

Whatever can be checked, such as a missing program of an agent's command, is checked before the
run's folder is made.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from agentbench import __version__
from agentbench.agents.command import missing_programs, not_found_message
from agentbench.agents.interface import Agent, NeedsMounts, NeedsPrograms
from agentbench.agents.predictions import PredictionName
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.context import limits_of
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import RunResources
from agentbench.attempt.runner import prepare_task, resolve_image
from agentbench.attempt.task_image import image_of, python_warnings, why_python, with_images
from agentbench.core.host import host_facts
from agentbench.core.owned_folder import owned_folder
from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.runs.capacity import fitting_jobs
from agentbench.runs.components import (
    agent_of,
    ask_model,
    durations_of,
    model_of,
    plan_of,
    report_removed_orphans,
    resources_of,
    select_sandbox,
)
from agentbench.runs.environment import catalogue_state
from agentbench.runs.executors.local import slots_elsewhere
from agentbench.runs.options import RunOptions, check_options
from agentbench.runs.run import Run
from agentbench.runs.store.configuration import RunConfiguration, TaskEntry
from agentbench.runs.store.store import RunStore, new_run_id
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider, SnapshotId
from agentbench.sandbox.registry import BackEndSelection
from agentbench.tasks.task import Task

_CHECKED_TASKS = 3  # tasks: in a run of many, all would have to be prepared to be sure of all


def check_agent_programs(
    agent: Agent, tasks: Sequence[Task], workshop: RunResources, *, say: Callable[[str], None]
) -> None:
    """Look for the programs where the first tasks' agents will work, until one task has them all.

    The set-up of a task may install a program, and its repository may hold one: a task whose image
    lacks a program is prepared, as its first attempt would do. Where that is not possible, nothing
    is decided, and the attempt tells.

    Raises:
        UsageError: none of these tasks has the programs.
    """
    programs = agent.programs if isinstance(agent, NeedsPrograms) else ()
    missing: tuple[str, ...] = ()
    looked_at = tasks[:_CHECKED_TASKS]
    for task in looked_at if programs else ():
        try:
            missing = _missing_for_task(programs, task, workshop, say)
        except (UnavailableError, SandboxError, OSError):
            return
        if not missing:
            return
    if missing:
        names = ", ".join(task.id for task in looked_at)
        raise UsageError(
            f"{not_found_message(missing)}; it has to be in the task's image or repository, or its "
            f"set-up has to install it (looked for in {names})"
        )


def _missing_for_task(
    programs: tuple[str, ...], task: Task, workshop: RunResources, say: Callable[[str], None]
) -> tuple[str, ...]:
    """The programs that are not where a task's agent will work.

    Raises:
        UnavailableError: that cannot be known before the attempt.
        SandboxError: a sandbox could not be made.
    """
    if task.environment.dockerfile is None and not any(map(_is_of_repository, programs)):
        missing = _missing_in(resolve_image(task, workshop.provider), programs, task, workshop)
        if not missing or not (task.setup.commands or "PATH" in task.environment.env):
            return missing
    if not workshop.use_cache:
        raise UnavailableError("what is prepared would not be kept")
    say(f"preparing {task.id}, to look for {', '.join(programs)} in it")
    with owned_folder("agentbench-logs-") as logs:
        prepared = prepare_task(task, NoopAgent(), workshop, logs)
    return _missing_in(prepared.snapshot, programs, task, workshop)


def _is_of_repository(program: str) -> bool:
    return "/" in program and not PurePosixPath(program).is_absolute()


def _missing_in(
    source: ImageId | SnapshotId, programs: tuple[str, ...], task: Task, workshop: RunResources
) -> tuple[str, ...]:
    with workshop.provider.open(source, limits=limits_of(task), network=False) as sandbox:
        return missing_programs(sandbox, programs, task.environment.env)


_TRUSTED_AGENTS = frozenset({"oracle", "noop"})


def start_run(tasks: Sequence[Task], options: RunOptions) -> Run:
    """Check everything that can be checked before the first attempt, and make the run's folder.

    Raises:
        UsageError: an option or the agent is wrong, a program of its command is missing, or the
            runs folder cannot be written.
        UnavailableError: the sandbox is not available, or an image is not there.
    """
    check_options(options)
    agent = agent_of(options, tasks)
    model = model_of(options)
    model.check(agent)
    slots = slots_elsewhere(options.executor)
    chosen = select_sandbox(options)
    _refuse_unsandboxed(options, chosen)
    report_removed_orphans(options, chosen.provider)
    ask_model(model, agent, probe=options.probe)
    workshop = resources_of(options, chosen.provider)
    given, tasks = tasks, with_images(tasks, chosen.provider, workshop.mirrors)
    _check_images(given, tasks, workshop)
    _build_agent_programs(agent, tasks, chosen.provider)
    if slots is None:  # else attempts are made on other machines
        check_agent_programs(agent, tasks, workshop, say=options.say)
    configuration = _configuration(tasks, options, agent, chosen, slots)
    store = RunStore.create(options.runs_dir, configuration)
    durations = durations_of(options, configuration)
    return Run(
        configuration=configuration,
        store=store,
        planned=plan_of(tasks, configuration, durations),
        agent=agent,
        workshop=workshop,
        model=model,
        durations=durations,
        warnings=(
            *chosen.warnings,
            *python_warnings(tasks, chosen.provider, workshop.mirrors),
        ),
        say=options.say,
    )


def _refuse_unsandboxed(options: RunOptions, chosen: BackEndSelection) -> None:
    name = options.agent if isinstance(options.agent, str) else "package.module:attribute"
    own = ":" in name and PredictionName.parse(name) is None
    trusted = name in _TRUSTED_AGENTS or own
    if chosen.provider.name == "process" and not trusted and not options.allow_unsandboxed:
        raise UsageError(
            f"--agent {name} would run without a sandbox here; start Docker or make bubblewrap "
            "work (`agentbench doctor` says how), or accept that with --allow-unsandboxed"
        )


def _check_images(given: Sequence[Task], tasks: Sequence[Task], workshop: RunResources) -> None:
    """Find missing images before any attempt; what a Dockerfile makes is made in its attempt."""
    seen: set[str | None] = set()
    for original, task in zip(given, tasks, strict=True):
        image = task.environment.image
        if task.environment.dockerfile is not None or (image in seen and task.workdir is None):
            continue
        seen.add(image)
        try:
            resolve_image(task, workshop.provider)
        except UnavailableError as error:
            why = "" if image is None else why_python(original, workshop.mirrors)
            raise UnavailableError(f"{task.id}: {why}{error}") from error


def _build_agent_programs(agent: Agent, tasks: Sequence[Task], provider: SandboxProvider) -> None:
    """Have the agent's own programs made before any attempt waits for them."""
    if not isinstance(agent, NeedsMounts):
        return
    images = {task.environment.image: task for task in tasks if not task.environment.dockerfile}
    for task in images.values():
        agent.mounts(provider, resolve_image(task, provider))


def _configuration(
    tasks: Sequence[Task],
    options: RunOptions,
    agent: Agent,
    chosen: BackEndSelection,
    slots: int | None,
) -> RunConfiguration:
    now = datetime.now(UTC)
    commit, dirty = catalogue_state(tasks[0].folder.parent) if tasks else (None, None)
    provider = chosen.provider
    return RunConfiguration(
        run_id=RunId(options.run_id) if options.run_id else new_run_id(now),
        agentbench_version=__version__,
        agent=agent.name,
        agent_command=options.agent_command,
        model=options.model,
        base_url=options.base_url,
        prices=_absolute(options.prices),
        record=_absolute(options.record),
        replay=_absolute(options.replay),
        attempts=options.attempts,
        jobs=options.jobs or slots or fitting_jobs(tasks),
        executor=options.executor,
        sandbox=provider.name,
        sandbox_reason=chosen.reason,
        sandbox_facts=dict(provider.describe()),
        sandbox_lacks=tuple(p.value for p in Promise if p not in provider.promises),
        timeout_scale=options.timeout_scale,
        retries=options.retries,
        max_outage_s=_seconds(options.max_outage),
        attempt_timeout_s=_seconds(options.attempt_timeout),
        use_cache=options.use_cache,
        registry=options.registry,
        max_cost_usd=options.max_cost_usd,
        integrity_controls=options.integrity_controls,
        shuffle_seed=options.shuffle_seed,
        tasks=tuple(_entry(task, provider) for task in tasks),
        catalogue_commit=commit,
        catalogue_dirty=dirty,
        host=host_facts(),
        started_at=now,
    )


def _entry(task: Task, provider: SandboxProvider) -> TaskEntry:
    image = image_of(task, provider)
    return TaskEntry(
        id=task.id,
        folder=str(task.folder.resolve()),
        digest=task.digest,
        image=image.name,
        python=image.python,
    )


def _absolute(path: Path | None) -> str | None:
    return str(path.resolve()) if path is not None else None


def _seconds(span: timedelta | None) -> float | None:
    return span.total_seconds() if span is not None else None
