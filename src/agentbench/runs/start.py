"""Starting a run: all that can be checked is checked before its folder is made."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentbench import __version__
from agentbench.agents.interface import Agent, NeedsMounts
from agentbench.agents.prediction_name import PredictionName
from agentbench.errors import UnavailableError, UsageError
from agentbench.runs.agent_programs import check_agent_programs
from agentbench.runs.attempt import resolve_image
from agentbench.runs.capacity import fitting_jobs
from agentbench.runs.configuration import RunConfiguration, TaskEntry
from agentbench.runs.executors.slots import slots_elsewhere
from agentbench.runs.host import catalogue_state, host_facts
from agentbench.runs.options import RunOptions, check_options
from agentbench.runs.parts import (
    agent_of,
    ask_model,
    chosen_sandbox,
    clear_up,
    durations_of,
    model_of,
    plan,
    workshop_of,
)
from agentbench.runs.record import RunId
from agentbench.runs.run import Run
from agentbench.runs.store import RunStore, new_run_id
from agentbench.runs.task_image import image_of, python_warnings, why_python, with_images
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.choose import Chosen
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.tasks.task import Task

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
    chosen = chosen_sandbox(options)
    _refuse_unsandboxed(options, chosen)
    clear_up(options, chosen.provider)
    ask_model(model, agent, probe=options.probe)
    workshop = workshop_of(options, chosen.provider)
    given, tasks = tasks, with_images(tasks, chosen.provider, workshop.mirrors)
    _check_images(given, tasks, workshop)
    _install(agent, tasks, chosen.provider)
    if slots is None:  # else attempts are made on other machines
        check_agent_programs(agent, tasks, workshop, say=options.say)
    configuration = _configuration(tasks, options, agent, chosen, slots)
    store = RunStore.create(options.runs_dir, configuration)
    durations = durations_of(options, configuration)
    return Run(
        configuration=configuration,
        store=store,
        planned=plan(tasks, configuration, durations),
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


def _refuse_unsandboxed(options: RunOptions, chosen: Chosen) -> None:
    name = options.agent if isinstance(options.agent, str) else "package.module:attribute"
    own = ":" in name and PredictionName.parse(name) is None
    trusted = name in _TRUSTED_AGENTS or own
    if chosen.provider.name == "process" and not trusted and not options.allow_unsandboxed:
        raise UsageError(
            f"--agent {name} would run without a sandbox here; start Docker or make bubblewrap "
            "work (`agentbench doctor` says how), or accept that with --allow-unsandboxed"
        )


def _check_images(given: Sequence[Task], tasks: Sequence[Task], workshop: Workshop) -> None:
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


def _install(agent: Agent, tasks: Sequence[Task], provider: SandboxProvider) -> None:
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
    chosen: Chosen,
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
