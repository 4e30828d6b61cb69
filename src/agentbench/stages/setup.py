"""setup: run the task's set-up commands, and remember the state they leave."""

import re
from datetime import timedelta

from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.stages.interface import StageContext
from agentbench.tasks.mirror import Mirror

_VERSION = re.compile(r"^\D*?(\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?)(?:-(\d+)-g[0-9a-f]+)?$")


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
    for line in context.task.setup.commands:
        result = sandbox.run(
            Command(
                argv=("sh", "-c", line),
                timeout=max(left - spent, timedelta(seconds=0.1)),
                env={**version_settings(context.mirror), **context.task.environment.env},
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
    """The version that `git describe` gave, for projects that would ask the history we cut off.

    The variables are those of setuptools-scm (also used by hatch-vcs) and pbr.
    """
    described = mirror.described if mirror is not None else None
    found = _VERSION.match(described) if described else None
    # Without a tag git gives the commit's first digits, and those may all be decimal.
    if found is None or (mirror is not None and mirror.commit.startswith(described or "")):
        return {}
    version, distance = found.groups()
    text = f"{version}.post{distance}" if distance else version
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": text, "PBR_VERSION": text}
