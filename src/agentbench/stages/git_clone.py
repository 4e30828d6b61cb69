"""git_clone: bring the repository from the host's mirror into a sandbox.

A task without a repository begins with what its image holds: then the sandbox is all there is.
"""

from collections.abc import Sequence

from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import Evidence
from agentbench.stages.interface import StageContext
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirror

_MIRROR = "mirror"
TIMEOUT = CLONE_TIMEOUT
"""How long fetching from the mirror may take; making the mirror may take as long."""

# The mirror belongs to another user, which git accepts from a global configuration alone.
_SCRIPT = """\
set -e
printf '[safe]\\n\\tdirectory = *\\n' > "$1/gitconfig"
export GIT_CONFIG_GLOBAL="$1/gitconfig" GIT_CONFIG_NOSYSTEM=1
cd "$2"
git init --quiet --initial-branch=main --template= .
git fetch --quiet --depth=1 --no-tags --no-recurse-submodules "file://$3" "$4"
"""


def git_clone(context: StageContext) -> Evidence:
    """Fetch the task's one commit, and no history, into the workspace.

    Raises:
        GitCloneError: the origin cannot be mirrored.
        SandboxError: no sandbox could be made.
    """
    task = context.task
    if task.source.workdir is not None:
        context.sandbox = _opened(context, ())
        return Evidence()
    context.mirror = mirror = context.mirrors.of(task.source)
    mount = ReadOnlyMount(name=_MIRROR, source=mirror.path)
    context.sandbox = sandbox = _opened(context, (mount,))
    result = sandbox.run(_fetch(sandbox, mirror, context))
    return Evidence(command=result, memory_limit_mib=task.environment.memory_mib)


def _opened(context: StageContext, mounts: Sequence[ReadOnlyMount]) -> Sandbox:
    setup, image = context.task.setup, context.image
    assert image is not None  # resolved before the first stage
    return context.resources.enter_context(
        context.provider.open(
            image,
            limits=context.limits,
            network=setup.network and bool(setup.commands),
            mounts=mounts,
            cancel=context.cancel,
        )
    )


def _fetch(sandbox: Sandbox, mirror: Mirror, context: StageContext) -> Command:
    where = (str(sandbox.results), str(sandbox.workspace), str(sandbox.mounted(_MIRROR)))
    wanted = mirror.commit if mirror.has_commit else "HEAD"
    return Command(
        argv=("sh", "-c", _SCRIPT, "git_clone", *where, wanted),
        timeout=context.scaled(TIMEOUT.total_seconds()),
        sink=context.sink,
    )
