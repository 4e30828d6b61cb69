"""Starts a run: checks everything that can be checked, and then creates the run's folder."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from agentbench import __version__
from agentbench.agents.command import missing_programs, not_found_message
from agentbench.agents.interface import Agent, NeedsMounts, NeedsPrograms
from agentbench.agents.predictions import PredictionName
from agentbench.attempt import task_image
from agentbench.attempt.context import limits_of
from agentbench.attempt.preparation import prepare_task
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import RunResources
from agentbench.core.host import host_facts
from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.runs import components
from agentbench.runs.capacity import fitting_jobs
from agentbench.runs.executors.local import slots_elsewhere
from agentbench.runs.options import RunOptions, check_model, open_model
from agentbench.runs.run import Run
from agentbench.runs.store.configuration import RunConfiguration, TaskEntry
from agentbench.runs.store.store import RunStore, new_run_id
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider, SnapshotId
from agentbench.sandbox.registry import BACK_ENDS_BY_NAME, BackEndSelection
from agentbench.tasks.host_git import catalogue_state
from agentbench.tasks.task import Task

_CHECKED_TASKS = 3  # tasks: in a run of many, all would have to be prepared to be sure of all


def check_agent_programs(
    agent: Agent, tasks: Sequence[Task], resources: RunResources, *, say: Callable[[str], None]
) -> None:
    """Look for the agent's programs in the first tasks, until one task has them all.

    The set-up of a task may install a program, and its repository may contain one. So a task whose
    image lacks a program is prepared, as its first attempt would do. If that is not possible, the
    first attempt shows whether the programs are there.

    Raises:
        UsageError: none of these tasks has the programs.
    """
    programs = agent.programs if isinstance(agent, NeedsPrograms) else ()
    missing: tuple[str, ...] = ()
    checked = tasks[:_CHECKED_TASKS]
    for task in checked if programs else ():
        try:
            missing = _missing_for_task(programs, task, resources, say)
        except (UnavailableError, SandboxError, OSError):
            return
        if not missing:
            return
    if missing:
        names = ", ".join(task.id for task in checked)
        raise UsageError(
            f"{not_found_message(missing)}; it has to be in the task's image or repository, or its "
            f"set-up has to install it (looked for in {names})"
        )


def _missing_for_task(
    programs: tuple[str, ...], task: Task, resources: RunResources, say: Callable[[str], None]
) -> tuple[str, ...]:
    """The programs that a task's prepared state lacks."""
    in_repository = any("/" in each and not PurePosixPath(each).is_absolute() for each in programs)
    if task.environment.dockerfile is None and not in_repository:
        missing = _missing_in(
            task_image.resolve_image(task, resources.provider), programs, task, resources
        )
        if not missing or not (task.setup.commands or "PATH" in task.environment.env):
            return missing
    if not resources.settings.use_cache:
        raise UnavailableError("without the cache the preparation would be lost")
    say(f"preparing {task.id}, to look for {', '.join(programs)} in it")
    prepared = prepare_task(task, resources).prepared
    return _missing_in(prepared.snapshot, programs, task, resources)


def _missing_in(
    source: ImageId | SnapshotId, programs: tuple[str, ...], task: Task, resources: RunResources
) -> tuple[str, ...]:
    with resources.provider.open(source, limits=limits_of(task), network=False) as sandbox:
        return missing_programs(sandbox, programs, task.environment.env)


_TRUSTED_AGENTS = frozenset({"oracle", "noop"})


def start_run(tasks: Sequence[Task], options: RunOptions) -> Run:
    """Check everything that can be checked before the first attempt, and create the run's folder.

    Raises:
        UsageError: an option or the agent is wrong, a program of its command is missing, or the
            runs folder cannot be written.
        UnavailableError: the sandbox is not available, or an image does not exist.
    """
    options.check()
    agent = components.agent_of(options, tasks)
    check_model(options, agent)
    slots = slots_elsewhere(options.executor)
    selected = components.select_sandbox(options)
    provider = selected.provider
    _refuse_unsandboxed(options, provider)
    components.report_removed_orphans(options, provider)
    with open_model(options, agent, probe=options.probe):
        pass  # a wrong key, name or file is found before anything is created
    resources = RunResources.of(provider, options.settings(), cache_dir=options.cache_dir)
    given, tasks = tasks, task_image.with_images(tasks, provider, resources.mirrors)
    _check_images(given, tasks, resources)
    _build_agent_programs(agent, tasks, provider)
    if slots is None:  # else attempts are made on other machines
        check_agent_programs(agent, tasks, resources, say=options.say)
    configuration = _configuration(tasks, options, agent, selected, slots)
    durations = components.durations_of(options, configuration)
    return Run(
        configuration=configuration,
        store=RunStore.create(options.runs_dir, configuration),
        planned=components.plan_of(tasks, configuration, durations),
        agent=agent,
        resources=resources,
        durations=durations,
        warnings=(
            *selected.warnings,
            *task_image.python_warnings(tasks, provider, resources.mirrors),
        ),
        say=options.say,
    )


def _refuse_unsandboxed(options: RunOptions, provider: SandboxProvider) -> None:
    name = options.agent if isinstance(options.agent, str) else "package.module:attribute"
    own = ":" in name and PredictionName.parse(name) is None
    trusted = name in _TRUSTED_AGENTS or own
    back_end = BACK_ENDS_BY_NAME.get(provider.name)  # None: the user's own
    isolates = back_end is None or back_end.isolates
    if not isolates and not trusted and not options.allow_unsandboxed:
        raise UsageError(
            f"--agent {name} would run without a sandbox here; start Docker or make bubblewrap "
            "work (`agentbench doctor` says how), or accept that with --allow-unsandboxed"
        )


def _check_images(given: Sequence[Task], tasks: Sequence[Task], resources: RunResources) -> None:
    """Find missing images before any attempt; an attempt builds the image of its Dockerfile."""
    seen: set[str | None] = set()
    for original, task in zip(given, tasks, strict=True):
        image = task.environment.image
        if task.environment.dockerfile is not None or (image in seen and task.workdir is None):
            continue
        seen.add(image)
        try:
            task_image.resolve_image(task, resources.provider)
        except UnavailableError as error:
            why = "" if image is None else task_image.why_python(original, resources.mirrors)
            raise UnavailableError(f"{task.id}: {why}{error}") from error


def _build_agent_programs(agent: Agent, tasks: Sequence[Task], provider: SandboxProvider) -> None:
    """Build the agent's own programs before any attempt waits for them."""
    if not isinstance(agent, NeedsMounts):
        return
    images = {task.environment.image: task for task in tasks if not task.environment.dockerfile}
    for task in images.values():
        agent.mounts(provider, task_image.resolve_image(task, provider))


def _configuration(
    tasks: Sequence[Task],
    options: RunOptions,
    agent: Agent,
    selected: BackEndSelection,
    slots: int | None,
) -> RunConfiguration:
    now = datetime.now(UTC)
    commit, dirty = catalogue_state(tasks[0].folder.parent) if tasks else (None, None)
    provider = selected.provider
    files = {"prices": options.prices, "record": options.record, "replay": options.replay}
    paths = {name: path.resolve() for name, path in files.items() if path is not None}
    return RunConfiguration(
        **dict(options.settings().replace(**paths)),
        run_id=RunId(options.run_id) if options.run_id else new_run_id(now),
        agentbench_version=__version__,
        agent=agent.name,
        jobs=options.jobs or slots or fitting_jobs(tasks),
        sandbox=provider.name,
        sandbox_reason=selected.reason,
        sandbox_facts=dict(provider.describe()),
        sandbox_lacks=tuple(each.value for each in Promise if each not in provider.promises),
        tasks=tuple(_entry(task, provider) for task in tasks),
        catalogue_commit=commit,
        catalogue_dirty=dirty,
        host=host_facts(),
        started_at=now,
    )


def _entry(task: Task, provider: SandboxProvider) -> TaskEntry:
    image = task_image.image_of(task, provider)
    return TaskEntry(
        id=task.id,
        folder=str(task.folder.resolve()),
        digest=task.digest,
        image=image.name,
        python=image.python,
    )
