"""setup: the task's set-up commands."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from agentbench.attempt.context import CloneOutput, SetupOutput, StageContext
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.attempt.sandboxes import require_services, watched_services
from agentbench.attempt.settings import stage_timeout
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.version_settings import version_settings
from agentbench.taxonomy import StageName


def setup(
    context: StageContext, clone: CloneOutput, store: Callable[[Sandbox], PreparedTask]
) -> SetupOutput:
    """Run the commands in turn until one fails; the last one that ran is the evidence.

    Args:
        context: The inputs.
        clone: The sandbox.
        store: Stores the state of the sandbox when all commands have succeeded.

    Raises:
        ServiceError: a service has failed.
        SandboxError: the sandbox is lost.
    """
    task = context.task
    timeout = stage_timeout(StageName.SETUP, task, context.settings)
    spent = timedelta(0)
    result: CommandResult | None = None
    with watched_services(context, clone.sandbox) as failures:
        for line, env in _setup_lines(context, clone.mirror):
            result = clone.sandbox.run(
                Command(
                    argv=("sh", "-c", line),
                    timeout=max(timeout - spent, timedelta(seconds=0.1)),
                    env=env,
                    sink=context.sink,
                )
            )
            spent += result.duration
            if not result.ok:
                break
    require_services(context, failures)
    evidence = Evidence(
        command=result,
        memory_limit_mib=task.environment.memory_mib,
        own_seconds=spent.total_seconds(),
    )
    has_succeeded = result is None or result.ok
    return SetupOutput(evidence=evidence, prepared=store(clone.sandbox) if has_succeeded else None)


def _setup_lines(
    context: StageContext, mirror: Mirror | None
) -> Iterator[tuple[str, Mapping[str, str]]]:
    task = context.task
    if context.shared_setup is None:
        # The version is for the project, not for the packages that it needs.
        yield from ((line, task.environment.env) for line in task.setup.shared)
    versions = version_settings(mirror) if task.setup.commands else {}
    yield from ((line, {**versions, **task.environment.env}) for line in task.setup.commands)
