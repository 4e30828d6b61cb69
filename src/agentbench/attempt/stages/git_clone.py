"""git_clone: the task's one commit, without its history, in a new sandbox.

A task without a repository starts from the files of its image.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from agentbench.attempt.context import CloneOutput, StageContext
from agentbench.attempt.sandboxes import open_sandbox
from agentbench.attempt.settings import stage_timeout
from agentbench.sandbox.egress.plan import NetworkPlan
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.tasks.mirror import Mirror
from agentbench.taxonomy import StageName

_MIRROR = "mirror"

# The mirror belongs to another user; git accepts this only by a global configuration.
_CLONE_SCRIPT = """\
set -e
printf '[safe]\\n\\tdirectory = *\\n' > "$1/gitconfig"
export GIT_CONFIG_GLOBAL="$1/gitconfig" GIT_CONFIG_NOSYSTEM=1
cd "$2"
if [ "$5" = shared ] && [ -e .git ]; then # of another commit
  git init --quiet --bare --template= "$1/clone"
  export GIT_DIR="$1/clone"
else
  git init --quiet --initial-branch=main --template= .
fi
git fetch --quiet --depth=1 --no-tags --no-recurse-submodules "file://$3" "$4"
"""


def git_clone(context: StageContext, opened: ExitStack) -> CloneOutput:
    """Fetch the task's one commit, without its history, into the workspace of a new sandbox.

    Args:
        context: The inputs.
        opened: Owns the sandbox.

    Raises:
        GitCloneError: the origin cannot be mirrored.
        SandboxError: no sandbox could be created.
    """
    task = context.task
    if task.source.workdir is not None:
        sandbox = _open_sandbox(context, opened, ())
        return CloneOutput(evidence=Evidence(), sandbox=sandbox, mirror=None)
    mirror = context.mirrors.of(task.source)
    sandbox, result = fetched_commit(context, opened, mirror)
    evidence = Evidence(command=result, memory_limit_mib=task.environment.memory_mib)
    return CloneOutput(evidence=evidence, sandbox=sandbox, mirror=mirror)


def fetched_commit(
    context: StageContext, opened: ExitStack, mirror: Mirror
) -> tuple[Sandbox, CommandResult]:
    """A new sandbox, and the result of the command that fetches the task's commit there."""
    # Fetched from a mount and not cloned over the network: the sandbox of set-up may have none, and
    # the mirror serves all tasks of a repository.
    mount = ReadOnlyMount(name=_MIRROR, source=mirror.path, shared=True)
    sandbox = _open_sandbox(context, opened, (mount,))
    where = (str(sandbox.results), str(sandbox.workspace), str(sandbox.mounted(_MIRROR)))
    revision = mirror.commit if mirror.has_commit else "HEAD"
    origin = "shared" if context.shared_setup is not None else "image"
    return sandbox, sandbox.run(
        Command(
            argv=("sh", "-c", _CLONE_SCRIPT, "git_clone", *where, revision, origin),
            timeout=stage_timeout(StageName.GIT_CLONE, context.task, context.settings),
            sink=context.sink,
        )
    )


def _open_sandbox(
    context: StageContext, opened: ExitStack, mounts: Sequence[ReadOnlyMount]
) -> Sandbox:
    setup = context.task.setup
    return opened.enter_context(
        open_sandbox(
            context,
            context.shared_setup or context.image,
            network=NetworkPlan(first=setup.network if setup.all_commands else False),
            mounts=mounts,
        )
    )
