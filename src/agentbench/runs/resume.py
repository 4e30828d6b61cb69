"""Goes on with a run that was interrupted, killed, or left without its engine."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import inf
from pathlib import Path

from agentbench.agents.interface import Agent
from agentbench.attempt.resources import RunResources
from agentbench.attempt.task_image import with_images
from agentbench.errors import InputError, UsageError
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
from agentbench.runs.environment import default_cache_dir
from agentbench.runs.executors.local import slots_elsewhere
from agentbench.runs.options import RunOptions
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
    """Go on with a run: finished attempts are kept, the others are made (again).

    Args:
        folder: of the run.
        cache_dir: where mirrors and preparations are kept; the user's own by default.
        agent: the agent itself, where the run was started with one that has no name to find it by.
        retry_lost: make those again, too, that the infrastructure failed to the last retry.
        say: is told what takes long before attempts.

    Raises:
        InputError: there is no such run, or a task of it has changed since.
        UsageError: its agent cannot be found by name, or `agent` is another one, or another
            process makes the run's attempts.
        UnavailableError: its sandbox is not available now.
    """
    store = RunStore.open(folder)
    configuration = store.configuration()
    with run_lock(folder):  # or refused at once, not after everything has been looked at
        recovered = store.recover()
    options = RunOptions(
        agent=_same_agent(configuration, agent) if agent is not None else configuration.agent,
        agent_command=configuration.agent_command,
        model=configuration.model,
        base_url=configuration.base_url,
        prices=_path(configuration.prices),
        record=_path(configuration.record),
        replay=_path(configuration.replay),
        executor=configuration.executor,
        sandbox=configuration.sandbox,
        use_cache=configuration.use_cache,
        registry=configuration.registry,
        timeout_scale=configuration.timeout_scale,
        integrity_controls=configuration.integrity_controls,
        attempt_timeout=_span(configuration.attempt_timeout_s),
        cache_dir=cache_dir if cache_dir is not None else default_cache_dir(),
        say=say,
    )
    given = _reloaded(configuration, options)
    chosen = select_sandbox(options)
    workshop = resources_of(options, chosen.provider)
    tasks = _with_images_of_the_run(given, configuration, workshop)
    tries = store.reading()
    retries = inf if retry_lost else configuration.retries
    durations = durations_of(options, configuration)
    whole = plan_of(tasks, configuration, durations)
    planned = remaining_attempts(whole, tries.headlines, retries=retries)
    chosen_agent = agent_of(options, tasks)
    model = model_of(options)
    model.check(chosen_agent)
    slots_elsewhere(options.executor)
    report_removed_orphans(options, chosen.provider)
    if planned:
        ask_model(model, chosen_agent, probe=True)
    return Run(
        configuration=configuration,
        store=store,
        planned=planned,
        agent=chosen_agent,
        workshop=workshop,
        model=model,
        durations=durations,
        warnings=(
            *recovered,
            *tries.warnings(),
            *chosen.warnings,
            *_image_warnings(given, tasks, configuration),
        ),
        retry_lost=retry_lost,
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


def _with_images_of_the_run(
    tasks: Sequence[Task], configuration: RunConfiguration, workshop: RunResources
) -> list[Task]:
    """The tasks with the images that the run began with, whatever would be chosen today."""
    images = {entry.id: entry.image for entry in configuration.tasks}
    known = [task if images[task.id] is None else _named(task, images[task.id]) for task in tasks]
    return with_images(known, workshop.provider, workshop.mirrors)


def _named(task: Task, image: str | None) -> Task:
    environment = task.environment.model_copy(update={"image": image})
    return task.model_copy(update={"environment": environment})


def _image_warnings(
    given: Sequence[Task], tasks: Sequence[Task], configuration: RunConfiguration
) -> tuple[str, ...]:
    """A line for a run of an older agentbench, which did not write down its images."""
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


def _same_agent(configuration: RunConfiguration, agent: Agent) -> Agent:
    if agent.name != configuration.agent:
        raise UsageError(
            f"{configuration.run_id}: is a run of {configuration.agent}, not of {agent.name}"
        )
    return agent


def _path(text: str | None) -> Path | None:
    return Path(text) if text is not None else None


def _span(seconds: float | None) -> timedelta | None:
    return timedelta(seconds=seconds) if seconds is not None else None
