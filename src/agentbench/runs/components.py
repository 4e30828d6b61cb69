"""Makes of its options what a run consists of.

Agent, model, sandbox, resources, plan; removes first what dead runs left.
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from agentbench.agents.client_bundles import bundles_folder, remove_unfinished
from agentbench.agents.interface import Agent
from agentbench.agents.registry import create_agent
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.resources import RunResources
from agentbench.attempt.shared_preparations import SharedPreparations
from agentbench.core.redaction import secrets_in
from agentbench.errors import SandboxError, UsageError
from agentbench.runs.model_settings import ModelSettings
from agentbench.runs.options import RunOptions
from agentbench.runs.plan import AttemptDurations, Plan, in_order
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.sandbox.cleanup import find_dead_orphans, remove_orphans
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import BackEndSelection, select_back_end
from agentbench.sandbox.snapshot_store import sweep_all
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirrors
from agentbench.tasks.task import Task


def remove_all_orphans(cache_dir: Path, provider: SandboxProvider) -> str | None:
    """Remove leftovers whose owners are dead; a sentence about it, if there were any.

    Some 10 ms where there is nothing. An engine that is lost keeps what it has until it is back.

    Args:
        cache_dir: Where mirrors, preparations and snapshots are kept.
        provider: The one that the run will use; the engine is asked only if it is a container's.
    """
    removed = Counter(each.kind for each in remove_orphans(find_dead_orphans(cache_dir)))
    removed["unfinished snapshot"] += sweep_all(cache_dir)
    removed["unfinished toolbox"] += remove_unfinished(bundles_folder(cache_dir))
    try:
        removed["snapshot"] += PreparationCache(cache_dir / "prepared", provider).forget_dead()
        removed += _engine_orphans(provider)
    except SandboxError:
        pass
    return _sentence(removed)


def _engine_orphans(provider: SandboxProvider) -> Counter[str]:
    if provider.name != "docker":
        return Counter()
    from agentbench.sandbox.docker.cleanup import remove_dead_orphans
    from agentbench.sandbox.docker.provider import DockerProvider

    if not isinstance(provider, DockerProvider):
        return Counter()
    return Counter(each.kind for each in remove_dead_orphans(provider.engine))


def _sentence(removed: Counter[str]) -> str | None:
    counted = [_counted(number, kind) for kind, number in removed.items() if number]
    return f"removed what a killed run left: {', '.join(counted)}" if counted else None


def _counted(number: int, kind: str) -> str:
    if number == 1:
        return f"1 {kind}"
    return f"{number} {kind}es" if kind.endswith("x") else f"{number} {kind}s"


def agent_of(options: RunOptions, tasks: Sequence[Task]) -> Agent:
    """The agent that was handed in, or the one of a name; the oracle gets the tasks' solutions.

    Raises:
        UsageError: it is no agent, or there is none of that name.
    """
    if not isinstance(options.agent, str):
        return _checked_agent(options.agent)
    return create_agent(
        options.agent,
        patches={task.id: task.answer_key.solution_patch for task in tasks},
        scripts={task.id: task.scripted_solution for task in tasks if task.scripted_solution},
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


def model_of(options: RunOptions) -> ModelSettings:
    """What was said of the model."""
    return ModelSettings(
        name=options.model,
        base_url=options.base_url,
        prices=options.prices,
        record=options.record,
        replay=options.replay,
    )


def ask_model(model: ModelSettings, agent: Agent, *, probe: bool) -> None:
    """Find a wrong key, name or file before anything is made for attempts."""
    with model.opened(agent, probe=probe):
        pass


def select_sandbox(options: RunOptions) -> BackEndSelection:
    """The back end that was handed in, asked for, or works here.

    Raises:
        UnavailableError: it does not work here.
        UsageError: there is none of that name.
    """
    if isinstance(options.sandbox, str):
        return select_back_end(options.sandbox, cache_dir=options.cache_dir)
    return BackEndSelection(provider=options.sandbox, reason="handed in", warnings=())


def report_removed_orphans(options: RunOptions, provider: SandboxProvider) -> None:
    """Remove what killed runs left, and say so."""
    said = remove_all_orphans(options.cache_dir, provider)
    if said is not None:
        options.say(said)


def resources_of(options: RunOptions, provider: SandboxProvider) -> RunResources:
    """What all attempts are going to share, but for the gateway.

    Raises:
        UsageError: preparations of such a sandbox cannot be shared by a registry.
    """
    cancel = Event()
    cache = PreparationCache(options.cache_dir / "prepared", provider)
    place = options.registry if options.use_cache else None
    timeout = CLONE_TIMEOUT * options.timeout_scale
    return RunResources(
        provider=provider,
        mirrors=Mirrors(options.cache_dir / "mirrors", timeout=timeout, cancel=cancel),
        cache=cache,
        cancel=cancel,
        timeout_scale=options.timeout_scale,
        use_cache=options.use_cache,
        secrets=secrets_in(os.environ),
        shared=None if place is None else SharedPreparations(place, cache, provider),
        control_level=options.integrity_controls,
        attempt_timeout=options.attempt_timeout,
    )


def durations_of(options: RunOptions, configuration: RunConfiguration) -> AttemptDurations | None:
    """How long attempts took earlier; None for a run that is to know of nothing."""
    if not configuration.use_cache:
        return None
    return AttemptDurations(
        options.cache_dir,
        agent=configuration.agent,
        model=configuration.model,
        provider=configuration.sandbox,
    )


def plan_of(
    tasks: Sequence[Task], configuration: RunConfiguration, durations: AttemptDurations | None
) -> Plan:
    """Every attempt of a run, in the order that they are made in."""
    known = durations.known(tasks) if durations is not None else {}
    ordered = in_order(
        tasks, expected=lambda task: known.get(task.id), seed=configuration.shuffle_seed
    )
    return Plan(ordered, configuration.attempts, known=known.keys())
