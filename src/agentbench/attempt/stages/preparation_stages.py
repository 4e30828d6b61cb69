"""git_clone, git_checkout and setup.

The repository's one commit without its history, and the task's set-up commands.

A task without a repository begins with what its image holds: then the sandbox is all there is.
"""

from collections.abc import Sequence
from datetime import timedelta

from packaging.version import Version

from agentbench.attempt.context import StageContext
from agentbench.core.redaction import without_credentials
from agentbench.errors import GitCheckoutError
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.tasks.git_trees import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import CLONE_TIMEOUT, Mirror
from agentbench.tasks.project.versions import scm_version

_MIRROR = "mirror"
GIT_CLONE_TIMEOUT = CLONE_TIMEOUT
"""How long fetching from the mirror may take; making the mirror may take as long."""

# The mirror belongs to another user, which git accepts from a global configuration alone.
_CLONE_SCRIPT = """\
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
        context.sandbox = _open_sandbox(context, ())
        return Evidence()
    context.mirror = mirror = context.mirrors.of(task.source)
    mount = ReadOnlyMount(name=_MIRROR, source=mirror.path)
    context.sandbox = sandbox = _open_sandbox(context, (mount,))
    result = sandbox.run(_fetch(sandbox, mirror, context))
    return Evidence(command=result, memory_limit_mib=task.environment.memory_mib)


def _open_sandbox(context: StageContext, mounts: Sequence[ReadOnlyMount]) -> Sandbox:
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
        argv=("sh", "-c", _CLONE_SCRIPT, "git_clone", *where, wanted),
        timeout=context.scaled(GIT_CLONE_TIMEOUT.total_seconds()),
        sink=context.sink,
    )


GIT_CHECKOUT_TIMEOUT = timedelta(minutes=10)
"""How long writing the files out may take."""

# One new commit of the exported files: no parent, remote, tag, reflog or stray object is left.
# The author and date are fixed, so that nothing of the upstream commit shows.
_CHECKOUT_SCRIPT = """\
set -e
cd "$1"
git checkout --quiet --detach FETCH_HEAD
rm -rf .git
git init --quiet --initial-branch=main --template= .
git add --all --force .
git commit --quiet --allow-empty --no-verify --message 'The task'"'"'s repository'
rm -rf .git/logs
test "$(git rev-list --all --count)" = 1
git cat-file --batch-all-objects --batch-check='%(objectname)' | sort > "$2/all"
git rev-list --objects --all | cut -c1-40 | sort > "$2/reachable"
cmp "$2/all" "$2/reachable"
test -z "$(git for-each-ref --format='%(refname)' | grep -v '^refs/heads/main$')"
test ! -e .git/objects/info/alternates
"""

_CHECKOUT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "agentbench",
    "GIT_AUTHOR_EMAIL": "agentbench@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+00:00",
    "GIT_COMMITTER_NAME": "agentbench",
    "GIT_COMMITTER_EMAIL": "agentbench@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+00:00",
}


def git_checkout(context: StageContext) -> Evidence:
    """Write the commit's files out and cut its history off; the script checks that none is left.

    Raises:
        GitCheckoutError: the repository has no such commit, or a patch of the task does not fit it.
        SandboxError: the sandbox is lost.
    """
    if context.task.source.workdir is not None:
        return Evidence()  # there is no repository, and so no history to cut off
    mirror, sandbox = context.mirror, context.sandbox
    assert mirror is not None  # made by git_clone
    assert sandbox is not None
    if not mirror.has_commit:
        shown = without_credentials(context.task.source.url or "the repository")
        raise GitCheckoutError(f"{shown} has no commit {mirror.commit}; check [repo] commit")
    _check_patches(context)
    result = sandbox.run(
        Command(
            argv=(
                "sh",
                "-c",
                _CHECKOUT_SCRIPT,
                "git_checkout",
                str(sandbox.workspace),
                str(sandbox.results),
            ),
            timeout=context.scaled(GIT_CHECKOUT_TIMEOUT.total_seconds()),
            env=_CHECKOUT_ENVIRONMENT,
            sink=context.sink,
        )
    )
    return Evidence(command=result, memory_limit_mib=context.task.environment.memory_mib)


def _check_patches(context: StageContext) -> None:
    assert context.mirror is not None
    key = context.task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            apply_patch_to_commit(patch, context.mirror)
        except PatchDoesNotApplyError as error:
            where = context.task.folder / name
            raise GitCheckoutError(f"{where}: does not apply to the base commit: {error}") from None


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
