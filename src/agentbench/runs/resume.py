"""Goes on with a run that was interrupted, killed, or left without its engine."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path

from agentbench.agents.interface import Agent
from agentbench.attempt.resources import RunResources
from agentbench.attempt.task_image import with_images
from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError, UsageError
from agentbench.runs import components
from agentbench.runs.executors.local import slots_elsewhere
from agentbench.runs.options import RunOptions, check_model, open_model
from agentbench.runs.plan import remaining_attempts
from agentbench.runs.run import Run
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.store import RunStore, run_lock
from agentbench.tasks.loading import load_tasks
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task


def resume_run(
    folder: Path,
    *,
    cache_dir: Path | None = None,
    agent: Agent | None = None,
    retry_lost: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> Run:
    """Go on with a run: finished attempts are kept, the others are made again.

    Args:
        folder: The folder of the run.
        cache_dir: The folder of mirrors and preparations; by default the user's own.
        agent: The agent itself, if the run was started with one that has no name here.
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
    with run_lock(folder):  # refused before slow work
        recovered = store.recover()
    options = _options(configuration, agent, cache_dir or default_cache_dir(), say)
    given = _reloaded(configuration, options)
    selected = components.select_sandbox(options)
    resources = RunResources.of(selected.provider, options.settings(), cache_dir=options.cache_dir)
    tasks = _with_recorded_images(given, configuration, resources)
    reading = store.reading()
    durations = components.durations_of(options, configuration)
    retries = inf if retry_lost else configuration.retries
    plan = components.plan_of(tasks, configuration, durations)
    run = Run(
        configuration=configuration,
        store=store,
        planned=remaining_attempts(plan, reading.headlines, retries=retries),
        agent=components.agent_of(options, tasks),
        resources=resources,
        durations=durations,
        warnings=(
            *recovered,
            *reading.warnings(),
            *selected.warnings,
            *_image_warnings(given, tasks, configuration),
        ),
        retry_lost=retry_lost,
        say=say,
    )
    _check(run, options)
    return run


def _check(run: Run, options: RunOptions) -> None:
    """Find a wrong key, name or file, or a missing cluster, before the first attempt."""
    check_model(options, run.agent)
    slots_elsewhere(options.executor)
    components.report_removed_orphans(options, run.resources.provider)
    if run.planned:
        with open_model(options, run.agent, probe=True):
            pass


def _options(
    configuration: RunConfiguration,
    agent: Agent | None,
    cache_dir: Path,
    say: Callable[[str], None],
) -> RunOptions:
    if agent is not None and agent.name != configuration.agent:
        raise UsageError(
            f"{configuration.run_id}: is a run of {configuration.agent}, not of {agent.name}"
        )
    return RunOptions(
        **dict(configuration.settings()),
        agent=agent if agent is not None else configuration.agent,
        sandbox=configuration.sandbox,
        cache_dir=cache_dir,
        say=say,
    )


def _reloaded(configuration: RunConfiguration, options: RunOptions) -> tuple[Task, ...]:
    folders = [Path(entry.folder) for entry in configuration.tasks]
    tasks = load_tasks(folders, mirrors=Mirrors(options.cache_dir / "mirrors")).tasks
    expected = {entry.id: entry.digest for entry in configuration.tasks}
    changed = [task.id for task in tasks if expected.get(task.id) != task.digest]
    if changed:
        raise InputError(
            f"{configuration.run_id}: changed since the run began: {', '.join(changed)}; put them "
            "back, or start a new run"
        )
    return tasks


def _with_recorded_images(
    tasks: Sequence[Task], configuration: RunConfiguration, resources: RunResources
) -> list[Task]:
    """The tasks with the images that the run started with, even if others would be chosen today."""
    images = {entry.id: entry.image for entry in configuration.tasks}
    named = []
    for task in tasks:
        image = images[task.id] or task.environment.image
        environment = task.environment.model_copy(update={"image": image})
        named.append(task.model_copy(update={"environment": environment}))
    return with_images(named, resources.provider, resources.mirrors)


def _image_warnings(
    given: Sequence[Task], tasks: Sequence[Task], configuration: RunConfiguration
) -> tuple[str, ...]:
    """A line for a run of an older agentbench, which did not record its images."""
    recorded = {entry.id for entry in configuration.tasks if entry.image is not None}
    chosen = {
        task.environment.image: None
        for before, task in zip(given, tasks, strict=True)
        if before.environment.image != task.environment.image and task.id not in recorded
    }
    if not chosen:
        return ()
    names = ", ".join(map(str, chosen))
    return (f"{configuration.run_id}: its images were not recorded; the rest runs in {names}",)
