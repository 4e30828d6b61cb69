"""Finds a missing program of an agent's command before the first attempt."""

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from agentbench.agents.command import not_found
from agentbench.agents.command_programs import missing_programs
from agentbench.agents.interface import Agent, NeedsPrograms
from agentbench.agents.noop import NoopAgent
from agentbench.errors import SandboxError, UnavailableError, UsageError
from agentbench.owned_folder import owned_folder
from agentbench.runs.attempt import prepare, resolve_image
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.interface import ImageId, SnapshotId
from agentbench.stages.interface import limits_of
from agentbench.tasks.task import Task

_LOOKED_AT = 3  # tasks: in a run of many, all would have to be prepared to be sure of all


def check_agent_programs(
    agent: Agent, tasks: Sequence[Task], workshop: Workshop, *, say: Callable[[str], None]
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
    looked_at = tasks[:_LOOKED_AT]
    for task in looked_at if programs else ():
        try:
            missing = _missing(programs, task, workshop, say)
        except (UnavailableError, SandboxError, OSError):
            return
        if not missing:
            return
    if missing:
        names = ", ".join(task.id for task in looked_at)
        raise UsageError(
            f"{not_found(missing)}; it has to be in the task's image or repository, or its set-up "
            f"has to install it (looked for in {names})"
        )


def _missing(
    programs: tuple[str, ...], task: Task, workshop: Workshop, say: Callable[[str], None]
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
        prepared = prepare(task, NoopAgent(), workshop, logs)
    return _missing_in(prepared.snapshot, programs, task, workshop)


def _is_of_repository(program: str) -> bool:
    return "/" in program and not PurePosixPath(program).is_absolute()


def _missing_in(
    source: ImageId | SnapshotId, programs: tuple[str, ...], task: Task, workshop: Workshop
) -> tuple[str, ...]:
    with workshop.provider.open(source, limits=limits_of(task), network=False) as sandbox:
        return missing_programs(sandbox, programs, task.environment.env)
