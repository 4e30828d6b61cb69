"""A run: some tasks, one agent, one sandbox, several attempts, one folder."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from agentbench import __version__
from agentbench.agents.choose import choose_agent
from agentbench.agents.interface import Agent, NeedsMounts
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.runs.attempt import Workshop, resolve_image
from agentbench.runs.configuration import RunConfiguration, RunEnding, TaskEntry
from agentbench.runs.host import catalogue_state, fitting_jobs, host_facts
from agentbench.runs.model_setting import ModelSetting
from agentbench.runs.places import default_cache_dir
from agentbench.runs.record import AttemptRecord, RunId
from agentbench.runs.run_lock import alone
from agentbench.runs.schedule import Planned, Schedule, run_attempts, was_interrupted
from agentbench.runs.store import ReadRecords, RunStore, new_run_id
from agentbench.sandbox.choose import Chosen, choose_provider
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.stages.preparation import PreparationCache
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.load import load_tasks
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirrors
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task

_TRUSTED_AGENTS = frozenset({"oracle", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run may be told; the command line's options, typed."""

    agent: Agent | str = "oracle"
    agent_command: str | None = None
    model: str | None = None
    base_url: str | None = None  # of the model's server, where it is not the provider's own
    prices: Path | None = None  # of models, beside the known ones
    probe: bool = True  # ask the model for a token before anything is made for attempts
    record: Path | None = None  # the model's answers, for a replay
    replay: Path | None = None
    attempts: int = 1
    jobs: int | None = None  # None: what fits the machine
    sandbox: SandboxProvider | str = "auto"
    runs_dir: Path = Path("runs")
    run_id: str | None = None
    retries: int = 2
    use_cache: bool = True
    timeout_scale: float = 1.0
    max_cost_usd: float | None = None
    shuffle_seed: int | None = None
    integrity_controls: ControlLevel | None = None  # None: each task's own
    allow_unsandboxed: bool = False
    cache_dir: Path = field(default_factory=default_cache_dir)
    say: Callable[[str], None] = lambda _line: None  # is told what takes long before attempts


@dataclass(slots=True, kw_only=True)
class Run:
    """A run that is ready to go, or to go on."""

    configuration: RunConfiguration
    store: RunStore
    planned: tuple[Planned, ...]
    agent: Agent
    workshop: Workshop
    model: ModelSetting = field(default_factory=ModelSetting)
    warnings: tuple[str, ...] = ()

    def attempts(self) -> Iterator[AttemptRecord]:
        """Make the attempts; yields each one's last record the moment it is on disk.

        Closing the iterator before its end stops the run, and run.json says `interrupted`.

        Raises:
            StorageError: the run's disk is full; what was under way is cut off.
            UsageError: another process makes this run's attempts.
        """
        with alone(self.store.folder):
            yield from self._attempts()

    def _attempts(self) -> Iterator[AttemptRecord]:
        planned = _not_done(self.planned, self.store.latest())  # by whoever was at it until now
        configuration = self.configuration.model_copy(update={"ended_at": None, "ending": None})
        self.store.write_configuration(configuration)
        schedule = Schedule(
            run_id=configuration.run_id,
            jobs=configuration.jobs,
            retries=configuration.retries,
            max_cost_usd=configuration.max_cost_usd,
        )
        ending = RunEnding.INTERRUPTED
        try:
            with self.model.opened(self.agent, probe=False) as gateway:
                workshop = replace(self.workshop, gateway=gateway)
                yield from run_attempts(planned, self.agent, workshop, self.store, schedule)
            if not self.workshop.cancel.is_set():
                ending = RunEnding.FINISHED
        finally:
            update = {"ended_at": datetime.now(UTC), "ending": ending}
            self.store.write_configuration(configuration.model_copy(update=update))

    def cancel(self) -> None:
        """Stop: what runs is cut off and recorded so, nothing new is started."""
        self.workshop.cancel.set()


def start_run(tasks: Sequence[Task], options: RunOptions) -> Run:
    """Check everything that can be checked before the first attempt, and make the run's folder.

    Raises:
        UsageError: an option or the agent is wrong, or the runs folder cannot be written.
        UnavailableError: the sandbox is not available, or an image is not there.
    """
    _check_numbers(options)
    patches = {task.id: task.answer_key.solution_patch for task in tasks}
    agent = _agent(options, patches)
    model = _model(options)
    model.check(agent)
    chosen = _choose(options)
    _refuse_unsandboxed(options, chosen)
    _ask_model(model, agent, probe=options.probe)
    _check_images(tasks, chosen.provider)
    _install(agent, tasks, chosen.provider)
    configuration = _configuration(tasks, options, agent, chosen)
    store = RunStore.create(options.runs_dir, configuration)
    return Run(
        configuration=configuration,
        store=store,
        planned=_plan(tasks, configuration),
        agent=agent,
        workshop=_workshop(options, chosen.provider),
        model=model,
        warnings=chosen.warnings,
    )


def resume_run(
    folder: Path,
    *,
    cache_dir: Path | None = None,
    agent: Agent | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Run:
    """Go on with a run: finished attempts are kept, the others are made (again).

    Args:
        folder: of the run.
        cache_dir: where mirrors and preparations are kept; the user's own by default.
        agent: the agent itself, where the run was started with one that has no name to find it by.
        say: is told what takes long before attempts.

    Raises:
        InputError: there is no such run, or a task of it has changed since.
        UsageError: its agent cannot be found by name, or `agent` is another one, or another
            process makes the run's attempts.
        UnavailableError: its sandbox is not available now.
    """
    store = RunStore.open(folder)
    configuration = store.configuration()
    with alone(folder):
        pass  # said at once, not after everything has been looked at
    options = RunOptions(
        agent=_same_agent(configuration, agent) if agent is not None else configuration.agent,
        agent_command=configuration.agent_command,
        model=configuration.model,
        base_url=configuration.base_url,
        prices=_path(configuration.prices),
        record=_path(configuration.record),
        replay=_path(configuration.replay),
        sandbox=configuration.sandbox,
        use_cache=configuration.use_cache,
        timeout_scale=configuration.timeout_scale,
        integrity_controls=configuration.integrity_controls,
        cache_dir=cache_dir if cache_dir is not None else default_cache_dir(),
        say=say,
    )
    tasks = _reloaded(configuration, options)
    patches = {task.id: task.answer_key.solution_patch for task in tasks}
    latest = store.latest()
    planned = _not_done(_plan(tasks, configuration), latest)
    chosen_agent = _agent(options, patches)
    model = _model(options)
    model.check(chosen_agent)
    chosen = _choose(options)
    if planned:
        _ask_model(model, chosen_agent, probe=True)
    return Run(
        configuration=configuration,
        store=store,
        planned=planned,
        agent=chosen_agent,
        workshop=_workshop(options, chosen.provider),
        model=model,
        warnings=(*latest.warnings, *chosen.warnings),
    )


def _not_done(planned: Sequence[Planned], latest: ReadRecords) -> tuple[Planned, ...]:
    done = {
        (record.task_id, record.attempt) for record in latest.records if not was_interrupted(record)
    }
    return tuple(item for item in planned if (item.task.id, item.attempt) not in done)


def _model(options: RunOptions) -> ModelSetting:
    return ModelSetting(
        name=options.model,
        base_url=options.base_url,
        prices=options.prices,
        record=options.record,
        replay=options.replay,
    )


def _ask_model(model: ModelSetting, agent: Agent, *, probe: bool) -> None:
    """Find a wrong key, name or file before anything is made for attempts."""
    with model.opened(agent, probe=probe):
        pass


def _absolute(path: Path | None) -> str | None:
    return str(path.resolve()) if path is not None else None


def _path(text: str | None) -> Path | None:
    return Path(text) if text is not None else None


def _same_agent(configuration: RunConfiguration, agent: Agent) -> Agent:
    if agent.name != configuration.agent:
        raise UsageError(
            f"{configuration.run_id}: is a run of {configuration.agent}, not of {agent.name}"
        )
    return agent


def _agent(options: RunOptions, patches: Mapping[TaskId, bytes]) -> Agent:
    if not isinstance(options.agent, str):
        return _checked_agent(options.agent)
    return choose_agent(
        options.agent,
        patches=patches,
        command=options.agent_command,
        toolboxes=options.cache_dir / "toolboxes",
        say=options.say,
    )


def _checked_agent(agent: Agent) -> Agent:
    name = getattr(agent, "name", None)
    if not isinstance(name, str) or not callable(getattr(agent, "solve", None)):
        raise UsageError(
            "agent: expected an object with a name and solve(problem, sandbox, budget, model), "
            f"found {type(agent).__name__}"
        )
    return agent


def _choose(options: RunOptions) -> Chosen:
    if isinstance(options.sandbox, str):
        return choose_provider(options.sandbox, cache_dir=options.cache_dir)
    return Chosen(provider=options.sandbox, reason="handed in", warnings=())


def _check_numbers(options: RunOptions) -> None:
    if options.attempts < 1:
        raise UsageError(f"--attempts: {options.attempts} is not above 0")
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"--jobs: {options.jobs} is not above 0")
    if options.retries < 0:
        raise UsageError(f"--retries: {options.retries} is below 0")
    if not 0 < options.timeout_scale < float("inf"):
        raise UsageError(f"--timeout-scale: {options.timeout_scale} is not above 0")
    if options.run_id is not None and not _is_run_id(options.run_id):
        raise UsageError(f"--run-id: {options.run_id!r} is no plain name of [A-Za-z0-9._-]")


def _is_run_id(text: str) -> bool:
    plain = all(c.isascii() and (c.isalnum() or c in "._-") for c in text)
    return plain and text[:1].isalnum()


def _refuse_unsandboxed(options: RunOptions, chosen: Chosen) -> None:
    name = options.agent if isinstance(options.agent, str) else "package.module:attribute"
    trusted = name in _TRUSTED_AGENTS or ":" in name
    if chosen.provider.name == "process" and not trusted and not options.allow_unsandboxed:
        raise UsageError(
            f"--agent {name} would run without a sandbox here; start Docker or make bubblewrap "
            "work (`agentbench doctor` says how), or accept that with --allow-unsandboxed"
        )


def _check_images(tasks: Sequence[Task], provider: SandboxProvider) -> None:
    """Find missing images before any attempt; what a Dockerfile makes is made in its attempt."""
    seen: set[str | None] = set()
    for task in tasks:
        image = task.environment.image
        if image in seen or task.environment.dockerfile is not None:
            continue
        seen.add(image)
        try:
            resolve_image(task, provider)
        except UnavailableError as error:
            raise UnavailableError(f"{task.id}: {error}") from error


def _install(agent: Agent, tasks: Sequence[Task], provider: SandboxProvider) -> None:
    """Have the agent's own programs made before any attempt waits for them."""
    if not isinstance(agent, NeedsMounts):
        return
    images = {task.environment.image: task for task in tasks if not task.environment.dockerfile}
    for task in images.values():
        agent.mounts(provider, resolve_image(task, provider))


def _plan(tasks: Sequence[Task], configuration: RunConfiguration) -> tuple[Planned, ...]:
    ordered = list(tasks)
    if configuration.shuffle_seed is not None:
        random.Random(configuration.shuffle_seed).shuffle(ordered)
    return tuple(
        Planned(task=task, attempt=attempt)
        for attempt in range(1, configuration.attempts + 1)
        for task in ordered
    )


def _workshop(options: RunOptions, provider: SandboxProvider) -> Workshop:
    cancel = Event()
    timeout = CLONE_TIMEOUT * options.timeout_scale
    return Workshop(
        provider=provider,
        mirrors=Mirrors(options.cache_dir / "mirrors", timeout=timeout, cancel=cancel),
        cache=PreparationCache(options.cache_dir / "prepared", provider),
        cancel=cancel,
        timeout_scale=options.timeout_scale,
        use_cache=options.use_cache,
        control_level=options.integrity_controls,
    )


def _configuration(
    tasks: Sequence[Task], options: RunOptions, agent: Agent, chosen: Chosen
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
        jobs=options.jobs if options.jobs is not None else fitting_jobs(tasks),
        sandbox=provider.name,
        sandbox_reason=chosen.reason,
        sandbox_facts=dict(provider.describe()),
        sandbox_lacks=tuple(p.value for p in Promise if p not in provider.promises),
        timeout_scale=options.timeout_scale,
        retries=options.retries,
        use_cache=options.use_cache,
        max_cost_usd=options.max_cost_usd,
        integrity_controls=options.integrity_controls,
        shuffle_seed=options.shuffle_seed,
        tasks=tuple(
            TaskEntry(id=task.id, folder=str(task.folder.resolve()), digest=task.digest)
            for task in tasks
        ),
        catalogue_commit=commit,
        catalogue_dirty=dirty,
        host=host_facts(),
        started_at=now,
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
