"""Creates the parts of a run from its options: agent, model, back end and plan; removes orphans."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from agentbench.agents.client_bundles import bundles_folder, remove_unfinished
from agentbench.agents.interface import Agent
from agentbench.agents.registry import as_agent, create_agent
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.errors import SandboxError
from agentbench.runs.options import RunOptions
from agentbench.runs.plan import AttemptDurations, Plan, in_order
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.sandbox.cleanup import find_dead_orphans, remove_orphans
from agentbench.sandbox.interface import EngineProvider, SandboxProvider
from agentbench.sandbox.snapshot_store import sweep_all
from agentbench.tasks.task import Task


def remove_all_orphans(
    cache_dir: Path, provider: SandboxProvider, *, say: Callable[[str], None]
) -> None:
    """Remove the remains of dead processes, and report them if there were any.

    Args:
        cache_dir: The folder of mirrors, preparations and snapshots.
        provider: The back end of the run; its engine is asked if it has one.
        say: Receives a sentence about the removed objects.
    """
    removed = Counter[str](each.kind for each in remove_orphans(find_dead_orphans(cache_dir)))
    removed["unfinished snapshot"] += sweep_all(cache_dir)
    removed["unfinished toolbox"] += remove_unfinished(bundles_folder(cache_dir))
    try:
        removed["snapshot"] += PreparationCache(cache_dir / "prepared", provider).forget_dead()
        if isinstance(provider, EngineProvider):
            removed.update(provider.remove_dead_orphans())
    # Objects in an engine that does not answer stay there until the next run.
    except SandboxError:
        pass
    counted = []
    for kind, number in removed.items():
        plural = f"{kind}es" if kind.endswith("x") else f"{kind}s"
        if number:
            counted.append(f"{number} {kind if number == 1 else plural}")
    if counted:
        say(f"removed remains of a killed run: {', '.join(counted)}")


def agent_of(options: RunOptions, tasks: Sequence[Task]) -> Agent:
    """The agent of the options, created if they give only its name; the oracle gets the solutions.

    Raises:
        UsageError: it is not an agent, or there is none with that name.
    """
    agent = options.selected_agent
    if isinstance(agent, str):
        return create_agent(
            agent,
            patches={task.id: task.answer_key.solution_patch for task in tasks},
            scripts={task.id: task.scripted_solution for task in tasks if task.scripted_solution},
            command=options.agent_command,
            files=options.agent_files,
            toolboxes=options.cache_dir / "toolboxes",
            say=options.say,
        )
    return as_agent(agent)


def durations_of(options: RunOptions, configuration: RunConfiguration) -> AttemptDurations | None:
    """The durations of earlier attempts; None for a run without the cache."""
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
    """Every attempt of a run, in the order in which they start."""
    known = durations.known(tasks) if durations is not None else {}
    ordered = in_order(
        tasks, expected=lambda task: known.get(task.id), seed=configuration.shuffle_seed
    )
    plan = Plan(ordered, configuration.attempts, known=known.keys())
    reruns = (each for each in configuration.tasks if each.attempts is not None)
    return plan.less(
        ((entry.id, number), number not in entry.numbers(configuration.attempts))
        for entry in reruns
        for number in range(1, configuration.attempts + 1)
    )
