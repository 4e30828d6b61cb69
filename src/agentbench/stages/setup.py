"""setup: run the task's set-up commands, and remember the state they leave."""

from datetime import timedelta

from packaging.version import Version

from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.stages.interface import StageContext
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.project.scm_version import scm_version


def setup(context: StageContext) -> Evidence:
    """Run every command in turn until one fails; the last one run is the evidence.

    Raises:
        SandboxError: the sandbox is lost.
    """
    sandbox = context.sandbox
    assert sandbox is not None  # made by git_clone
    left = context.scaled(context.task.setup.timeout_s)
    spent = timedelta(0)
    result: CommandResult | None = None
    commands = context.task.setup.commands
    told = version_settings(context.mirror) if commands else {}
    for line in commands:
        result = sandbox.run(
            Command(
                argv=("sh", "-c", line),
                timeout=max(left - spent, timedelta(seconds=0.1)),
                env={**told, **context.task.environment.env},
                sink=context.sink,
            )
        )
        spent += result.duration
        if not result.ok:
            break
    evidence = Evidence(
        command=result,
        memory_limit_mib=context.task.environment.memory_mib,
        own_seconds=spent.total_seconds(),
    )
    if result is None or result.ok:
        context.prepared = context.keep_snapshot(context)
    return evidence


def version_settings(mirror: Mirror | None) -> dict[str, str]:
    """The version of the commit, for projects that would ask the history that we cut off.

    The variables are those of setuptools-scm (hatch-vcs reads it, too) and pbr, which knows neither
    epochs nor local versions.
    """
    text = scm_version(mirror) if mirror is not None else None
    if text is None:
        return {}
    version = Version(text)
    pbr = {} if version.epoch else {"PBR_VERSION": version.public}
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": text, **pbr}
