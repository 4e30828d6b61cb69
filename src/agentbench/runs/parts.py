"""The parts of a run, made of its options: agent, model, sandbox, workshop, plan."""

import os
from collections.abc import Sequence
from threading import Event

from agentbench.agents.choose import choose_agent
from agentbench.agents.gateway.redaction import secrets_in
from agentbench.agents.interface import Agent
from agentbench.errors import UsageError
from agentbench.runs.configuration import RunConfiguration
from agentbench.runs.durations import Durations
from agentbench.runs.model_setting import ModelSetting
from agentbench.runs.options import RunOptions
from agentbench.runs.plan import Plan, in_order
from agentbench.runs.reaping import remove_what_dead_runs_left
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.choose import Chosen, choose_provider
from agentbench.sandbox.interface import SandboxProvider
from agentbench.stages.preparation import PreparationCache
from agentbench.stages.shared_preparations import SharedPreparations
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirrors
from agentbench.tasks.task import Task


def agent_of(options: RunOptions, tasks: Sequence[Task]) -> Agent:
    """The agent that was handed in, or the one of a name; the oracle gets the tasks' solutions.

    Raises:
        UsageError: it is no agent, or there is none of that name.
    """
    if not isinstance(options.agent, str):
        return _checked_agent(options.agent)
    return choose_agent(
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


def model_of(options: RunOptions) -> ModelSetting:
    """What was said of the model."""
    return ModelSetting(
        name=options.model,
        base_url=options.base_url,
        prices=options.prices,
        record=options.record,
        replay=options.replay,
    )


def ask_model(model: ModelSetting, agent: Agent, *, probe: bool) -> None:
    """Find a wrong key, name or file before anything is made for attempts."""
    with model.opened(agent, probe=probe):
        pass


def chosen_sandbox(options: RunOptions) -> Chosen:
    """The back end that was handed in, asked for, or works here.

    Raises:
        UnavailableError: it does not work here.
        UsageError: there is none of that name.
    """
    if isinstance(options.sandbox, str):
        return choose_provider(options.sandbox, cache_dir=options.cache_dir)
    return Chosen(provider=options.sandbox, reason="handed in", warnings=())


def clear_up(options: RunOptions, provider: SandboxProvider) -> None:
    """Remove what killed runs left, and say so."""
    said = remove_what_dead_runs_left(options.cache_dir, provider)
    if said is not None:
        options.say(said)


def workshop_of(options: RunOptions, provider: SandboxProvider) -> Workshop:
    """What all attempts are going to share, but for the gateway.

    Raises:
        UsageError: preparations of such a sandbox cannot be shared by a registry.
    """
    cancel = Event()
    cache = PreparationCache(options.cache_dir / "prepared", provider)
    place = options.registry if options.use_cache else None
    timeout = CLONE_TIMEOUT * options.timeout_scale
    return Workshop(
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


def durations_of(options: RunOptions, configuration: RunConfiguration) -> Durations | None:
    """How long attempts took earlier; None for a run that is to know of nothing."""
    if not configuration.use_cache:
        return None
    return Durations(
        options.cache_dir,
        agent=configuration.agent,
        model=configuration.model,
        provider=configuration.sandbox,
    )


def plan(
    tasks: Sequence[Task], configuration: RunConfiguration, durations: Durations | None
) -> Plan:
    """Every attempt of a run, in the order that they are made in."""
    known = durations.known(tasks) if durations is not None else {}
    ordered = in_order(
        tasks, expected=lambda task: known.get(task.id), seed=configuration.shuffle_seed
    )
    return Plan(ordered, configuration.attempts, known=known.keys())
