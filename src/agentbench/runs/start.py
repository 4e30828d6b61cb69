"""Starts a run, or resumes one.

All possible checks come before the first attempt.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench import __version__
from agentbench.agents.built_in import REFERENCE_AGENTS
from agentbench.agents.interface import Agent, NeedsMounts, NeedsPrograms
from agentbench.agents.registry import PredictionName
from agentbench.attempt import context, preparing, task_image
from agentbench.attempt.record import RunId
from agentbench.attempt.resources import RunResources
from agentbench.core.host import default_cache_dir, host_facts
from agentbench.errors import InputError, SandboxError, UnavailableError, UsageError
from agentbench.runs import components, scheduler
from agentbench.runs.executors.local import slots_elsewhere
from agentbench.runs.options import RunOptions, check_model, open_model
from agentbench.runs.plan import remaining_attempts
from agentbench.runs.rerun import FailedAttempts
from agentbench.runs.run import Run
from agentbench.runs.store.configuration import RunConfiguration, TaskEntry, TaskQuality
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore, new_run_id, run_lock
from agentbench.sandbox.back_ends import BACK_ENDS_BY_NAME
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider, SnapshotId
from agentbench.sandbox.registry import BackEndSelection, select_back_end
from agentbench.tasks.host_git import catalogue_state
from agentbench.tasks.host_variables import with_host_variables
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

# Checking all of many tasks would mean preparing all of them.
_CHECKED_TASKS = 3


def with_local_files(
    options: RunOptions, tasks: Sequence[Task], resources: RunResources
) -> RunOptions:
    """The options with the programs of the command that only this machine has, as in `./fix.sh`.

    A program of the task's image or repository takes precedence.
    """
    command = options.agent_command
    if command is None or options.agent_files:
        return options
    from agentbench.agents.agent_files import local_programs

    found = local_programs(command)
    missing = missing_in_tasks(found, tasks, resources, say=options.say)
    files = tuple(Path(each) for each in (found if missing is None else missing))
    if not files:
        return options
    given = " ".join(f"--agent-files {shlex.quote(str(each))}" for each in files)
    options.say(f"using {', '.join(map(str, files))} of this machine (as with {given})")
    return options.replace(agent_files=files)


def check_agent_files(options: RunOptions, tasks: Sequence[Task]) -> None:
    """Refuse files that would show the agent the answers.

    Raises:
        UsageError: a task with its tests and solution is among them, or the results of runs.
    """
    answers = {task.folder.resolve(): f"the task {task.id}" for task in tasks}
    answers[Path(os.path.realpath(options.runs_dir))] = "the results of runs"
    for path in options.agent_files:
        for folder, what in answers.items():
            if folder.is_relative_to(os.path.realpath(path)):
                raise UsageError(
                    f"--agent-files {path}: holds {what}, which the agent must not see; name a "
                    "folder that has only the agent's files"
                )


def check_agent_programs(
    agent: Agent, tasks: Sequence[Task], resources: RunResources, *, say: Callable[[str], None]
) -> None:
    """Look for the agent's programs in the first tasks.

    Raises:
        UsageError: none of these tasks has the programs.
    """
    programs = agent.programs if isinstance(agent, NeedsPrograms) else ()
    missing = missing_in_tasks(programs, tasks, resources, say=say)
    if missing:
        from agentbench.agents.command import not_found_message

        names = ", ".join(task.id for task in tasks[:_CHECKED_TASKS])
        files = (each for each in missing if "/" in each and Path(each).is_file())
        local = next((each for each in files if not os.access(each, os.X_OK)), None)
        hint = f"; {local} of this machine is not executable: chmod +x {local}" if local else ""
        raise UsageError(
            f"{not_found_message(missing)}; it must be in the task's image or repository, its "
            "set-up must install it, or it must be a file of this machine, as in ./fix.sh or with "
            f"--agent-files (looked for in {names}){hint}"
        )


def missing_in_tasks(
    programs: tuple[str, ...],
    tasks: Sequence[Task],
    resources: RunResources,
    *,
    say: Callable[[str], None],
) -> tuple[str, ...] | None:
    """The programs that the first tasks lack; none as soon as one task has them all.

    None: the tasks could not be prepared, and the first attempt shows whether they are there.
    """
    missing: tuple[str, ...] = ()
    for task in tasks[:_CHECKED_TASKS] if programs else ():
        try:
            missing = _missing_for_task(programs, task, resources, say)
        except (UnavailableError, SandboxError, OSError):
            return None
        if not missing:
            break
    return missing


def _missing_for_task(
    programs: tuple[str, ...], task: Task, resources: RunResources, say: Callable[[str], None]
) -> tuple[str, ...]:
    # The set-up of a task may install a program, and its repository may contain one. So a task
    # whose image lacks a program is prepared, as its first attempt would do.
    in_repository = any("/" in each and not PurePosixPath(each).is_absolute() for each in programs)
    if not task.environment.is_built and not in_repository:
        image = task_image.resolve_image(task, resources.provider)
        missing = _missing_in(image, programs, task, resources)
        if not missing or not (task.setup.all_commands or "PATH" in task.environment.env):
            return missing
    if not resources.settings.use_cache:
        raise UnavailableError("without the cache the preparation would be lost")
    say(f"preparing {task.id}, to look for {', '.join(programs)} in it")
    prepared = preparing.prepare_task(task, resources).prepared
    return _missing_in(prepared.snapshot, programs, task, resources)


def _missing_in(
    source: ImageId | SnapshotId, programs: tuple[str, ...], task: Task, resources: RunResources
) -> tuple[str, ...]:
    from agentbench.agents.command import missing_programs

    with resources.provider.open(source, limits=context.limits_of(task), network=False) as sandbox:
        return missing_programs(sandbox, programs, task.environment.env)


def check_solutions(agent: object, tasks: Sequence[Task]) -> None:
    """Refuse the oracle if no task has a reference solution, except to validate tasks.

    Raises:
        InputError: no task has anything that the oracle could apply.
    """
    if agent != "oracle":
        return
    unsolved = [
        task.folder
        for task in tasks
        if task.scripted_solution is None and not task.answer_key.solution_patch.strip()
    ]
    # Others of the same catalogue can be run; the attempt says what is missing.
    if unsolved and len(unsolved) == len(tasks):
        what = "has no solution.patch, which --agent oracle applies"
        raise InputError(*(f"{folder}: {what}" for folder in unsolved))


def start_run(
    tasks: Sequence[Task],
    options: RunOptions,
    *,
    rerun: FailedAttempts | None = None,
    qualities: Mapping[TaskId, TaskQuality] = MappingProxyType({}),
) -> Run:
    """Make all checks that are possible before the first attempt, and create the run's folder.

    Args:
        tasks: The tasks.
        options: The options.
        rerun: Make only these attempts.
        qualities: What is known of the tests of tasks; run.json keeps it.

    Raises:
        UsageError: an option or the agent is wrong, a program of its command is missing, or the
            runs folder cannot be written.
        UnavailableError: the sandbox is not available, or an image does not exist.
    """
    options.check()
    tasks = with_host_variables(tasks, options.allow_env, os.environ)
    agent = components.agent_of(options, tasks)
    check_model(options, agent)
    slots = slots_elsewhere(options.executor)
    selected, resources = open_resources(options)
    provider = selected.provider
    # A wrong key, name or file is found before anything is created.
    with open_model(options, agent, probe=options.probe, say=options.say):
        pass
    tasks = ready_tasks(tasks, options, resources)
    # Attempts on other machines cannot see files of this one.
    if slots is None:
        options = with_local_files(options, tasks, resources)
        check_agent_files(options, tasks)
        agent = components.agent_of(options, tasks)
    if isinstance(agent, NeedsMounts):
        # Built here, or every parallel attempt would wait for the first one to build them.
        images = {task.environment.image: task for task in tasks if not task.environment.is_built}
        for task in images.values():
            agent.mounts(provider, task_image.resolve_image(task, provider))
    if slots is None:
        check_agent_programs(agent, tasks, resources, say=options.say)
    configuration = configuration_of(tasks, options, agent.name, selected, slots, rerun)
    entries = configuration.tasks
    configuration = configuration.replace(
        tasks=tuple(one.replace(quality=qualities.get(one.id, one.quality)) for one in entries)
    )
    durations = components.durations_of(options, configuration)
    python_warnings = task_image.python_warnings(tasks, provider, resources.mirrors)
    return Run(
        configuration=configuration,
        store=RunStore.create(options.runs_dir, configuration),
        planned=components.plan_of(tasks, configuration, durations),
        agent=agent,
        resources=resources,
        durations=durations,
        warnings=(*selected.warnings, *python_warnings),
        say=options.say,
    )


def open_resources(options: RunOptions) -> tuple[BackEndSelection, RunResources]:
    """Select the back end, and open the resources that all attempts share.

    Raises:
        UsageError: an option is wrong, or the agent would run without a sandbox.
        UnavailableError: the sandbox is not available.
    """
    selected = select_back_end(options.sandbox, cache_dir=options.cache_dir)
    agent = options.selected_agent
    name = agent if isinstance(agent, str) else "package.module:attribute"
    own = ":" in name and PredictionName.parse(name) is None
    trusted = name in REFERENCE_AGENTS or own
    back_end = BACK_ENDS_BY_NAME.get(selected.provider.name)  # None: the user's own
    isolates = back_end is None or back_end.isolates
    if not isolates and not trusted and not options.allow_unsandboxed:
        raise UsageError(
            f"--agent {name} would run without a sandbox here; start Docker or make bubblewrap "
            "work (`agentbench doctor` says how), or allow it with --allow-unsandboxed"
        )
    settings = options.settings()
    resources = RunResources.of(selected.provider, settings, cache_dir=options.cache_dir)
    _remove_orphans(resources, options)
    return selected, resources


def ready_tasks(
    tasks: Sequence[Task], options: RunOptions, resources: RunResources
) -> Sequence[Task]:
    """The tasks with their runtimes and images; missing images are found before any attempt.

    Raises:
        UnavailableError: an image or a runtime does not exist.
    """
    tasks = [task_image.with_runtime(task, options.runtime) for task in tasks]
    ready = task_image.with_images(tasks, resources.provider, resources.mirrors)
    checked_images: set[str | None] = set()
    for original, task in zip(tasks, ready, strict=True):
        image = task.environment.image
        task_image.check_services(task, resources.provider)
        # An attempt builds the image of its Dockerfile. A task with a workdir needs that folder
        # in its image, whoever has checked the image before.
        if task.environment.is_built or (image in checked_images and task.workdir is None):
            continue
        checked_images.add(image)
        try:
            task_image.resolve_image(task, resources.provider)
        except UnavailableError as error:
            why = "" if image is None else task_image.why_python(original, resources.mirrors)
            raise UnavailableError(f"{task.id}: {why}{error}") from error
    return ready


def configuration_of(
    tasks: Sequence[Task],
    options: RunOptions,
    agent: str,
    selected: BackEndSelection,
    slots: int | None = None,
    rerun: FailedAttempts | None = None,
) -> RunConfiguration:
    """The configuration of a new run.

    Args:
        tasks: The tasks.
        options: The options.
        agent: The name of the agent.
        selected: The back end.
        slots: The parallel attempts that other machines allow; None: attempts are made here.
        rerun: The attempts of another run that this one repeats.
    """
    now = datetime.now(UTC)
    commit, dirty = catalogue_state(tasks[0].folder.parent) if tasks else (None, None)
    provider = selected.provider
    files = {"prices": options.prices, "record": options.record, "replay": options.replay}
    paths: dict[str, object] = {
        name: path.resolve() for name, path in files.items() if path is not None
    }
    paths["agent_files"] = tuple(path.resolve() for path in options.agent_files)
    return RunConfiguration(
        **dict(options.settings().replace(**paths)),
        run_id=RunId(options.run_id) if options.run_id else new_run_id(now),
        agentbench_version=__version__,
        agent=agent,
        jobs=options.jobs or slots or scheduler.fitting_jobs(tasks),
        sandbox=provider.name,
        sandbox_reason=selected.reason,
        sandbox_facts=dict(provider.describe()),
        sandbox_lacks=tuple(each.value for each in Promise if each not in provider.promises),
        tasks=tuple(
            entry_of(task, provider, rerun.numbers(task.id, options) if rerun else None)
            for task in tasks
        ),
        rerun_of=rerun.configuration.run_id if rerun else None,
        catalogue_commit=commit,
        catalogue_dirty=dirty,
        host=host_facts(),
        started_at=now,
    )


def entry_of(
    task: Task, provider: SandboxProvider, attempts: tuple[int, ...] | None = None
) -> TaskEntry:
    """The entry of a task in run.json; `attempts` are the numbers that a rerun makes."""
    image = task_image.image_of(task, provider)
    return TaskEntry(
        id=task.id,
        folder=str(task.folder.resolve()),
        digest=task.digest,
        image=image.name,
        python=image.python,
        attempts=attempts,
    )


def resume_run(
    folder: Path,
    *,
    cache_dir: Path | None = None,
    agent: Agent | None = None,
    retry_lost: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> Run:
    """Continue a run: finished attempts are kept, the others are repeated.

    Args:
        folder: The folder of the run.
        cache_dir: The folder of mirrors and preparations; by default the user's own.
        agent: The agent object, if the run was started with one that cannot be found by name.
        retry_lost: Also rerun attempts that failed because of infrastructure after all retries.
        say: Receives a line before slow work.

    Raises:
        InputError: there is no such run, or a task of it has changed since.
        UsageError: its agent cannot be found by name, or `agent` is another one, or another
            process makes the run's attempts.
        UnavailableError: its sandbox is not available now.
    """
    store = RunStore.open(folder)
    configuration = store.configuration()
    # Another process that makes the attempts is found before slow work.
    with run_lock(folder):
        recovered = store.recover()
    if agent is not None and agent.name != configuration.agent:
        raise UsageError(
            f"{configuration.run_id}: is a run of {configuration.agent}, not of {agent.name}"
        )
    options = RunOptions(
        **dict(configuration.settings()),
        agent=agent if agent is not None else configuration.agent,
        sandbox=configuration.sandbox,
        cache_dir=cache_dir or default_cache_dir(),
        say=say,
    )
    originals = with_host_variables(
        _reloaded(configuration, options), options.allow_env, os.environ
    )
    selected = select_back_end(options.sandbox, cache_dir=options.cache_dir)
    resources = RunResources.of(selected.provider, options.settings(), cache_dir=options.cache_dir)
    tasks = _with_recorded_images(originals, configuration, resources)
    reading = read_run(store.folder)
    durations = components.durations_of(options, configuration)
    retries = inf if retry_lost else configuration.retries
    plan = components.plan_of(tasks, configuration, durations)
    run = Run(
        configuration=configuration,
        store=store,
        planned=remaining_attempts(plan, reading.summaries, retries=retries),
        agent=components.agent_of(options, tasks),
        resources=resources,
        durations=durations,
        warnings=(
            *recovered,
            *reading.warnings(),
            *selected.warnings,
            *_image_warnings(originals, tasks, configuration),
        ),
        retry_lost=retry_lost,
        say=say,
    )
    # A wrong key, name or file, or a missing cluster, is found before the first attempt.
    check_model(options, run.agent)
    slots_elsewhere(options.executor)
    _remove_orphans(run.resources, options)
    if run.planned:
        with open_model(options, run.agent, probe=True, say=options.say):
            pass
    return run


def _remove_orphans(resources: RunResources, options: RunOptions) -> None:
    # In the background: an engine with many remains takes its time. The run's end waits for it.
    provider, say = resources.provider, options.say
    resources.background.remove(
        lambda: components.remove_all_orphans(options.cache_dir, provider, say=say)
    )


def _reloaded(configuration: RunConfiguration, options: RunOptions) -> tuple[Task, ...]:
    folders = [Path(entry.folder) for entry in configuration.tasks]
    tasks = load_tasks(folders, mirrors=Mirrors(options.cache_dir / "mirrors")).tasks
    expected = {entry.id: entry.digest for entry in configuration.tasks}
    changed = [task.id for task in tasks if expected.get(task.id) != task.digest]
    if changed:
        raise InputError(
            f"{configuration.run_id}: changed since the run began: {', '.join(changed)}; restore "
            "them, or start a new run"
        )
    return tasks


def _with_recorded_images(
    tasks: Sequence[Task], configuration: RunConfiguration, resources: RunResources
) -> list[Task]:
    # The run's own images, even if others would be chosen now: a base image that was built since
    # would change what the remaining attempts run with.
    images = {entry.id: entry.image for entry in configuration.tasks}
    named = []
    for task in tasks:
        image = images[task.id] or task.environment.image
        environment = task.environment.replace(image=image)
        named.append(task.replace(environment=environment))
    return task_image.with_images(named, resources.provider, resources.mirrors)


def _image_warnings(
    originals: Sequence[Task], tasks: Sequence[Task], configuration: RunConfiguration
) -> tuple[str, ...]:
    # Runs of former releases did not record their images.
    recorded = {entry.id for entry in configuration.tasks if entry.image is not None}
    chosen = {
        task.environment.image: None
        for before, task in zip(originals, tasks, strict=True)
        if before.environment.image != task.environment.image and task.id not in recorded
    }
    if not chosen:
        return ()
    names = ", ".join(map(str, chosen))
    return (
        f"{configuration.run_id}: its images were not recorded; the remaining attempts run in "
        f"{names}",
    )
