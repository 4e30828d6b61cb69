"""git_clone, git_checkout and setup: the repository's one commit, and the task's set-up commands.

A task without a repository starts from the files of its image.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta

from agentbench.attempt.context import CloneOutput, SetupOutput, StageContext, StageOutput
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.attempt.stage_runner import stage_timeout
from agentbench.attempt.stages.service_logs import (
    open_sandbox,
    require_services,
    watched_services,
)
from agentbench.core.display_text import without_credentials
from agentbench.errors import GitCheckoutError
from agentbench.sandbox.egress.plan import NetworkPlan
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirror

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
# Makes one new commit of the exported files, without a parent, remote, tag, reflog or stray object.
# The author and date are fixed, so that they reveal nothing about the upstream commit.
_CHECKOUT_SCRIPT = """\
set -e
cd "$1"
subject='The task'"'"'s repository'
if [ -e "$2/clone" ]; then
  # Equal files and objects of the shared checkout are not even touched: a touched file is copied
  # to the container's own layer, and so to the task's snapshot.
  export GIT_DIR="$2/clone" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$2/clone/index"
  git read-tree FETCH_HEAD
  git update-index -q --refresh > "$2/clone/stale" || true
  git checkout-index --all --force
  git clean --quiet -ffdx
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
  git -c core.checkStat=minimal -c core.trustctime=false add --all --force .
  git update-ref refs/heads/main "$(git commit-tree -m "$subject" "$(git write-tree)")"
  rm -rf "$2/clone" .git/logs
  git prune --expire=now
else
  git checkout --quiet --detach FETCH_HEAD
  rm -rf .git
  git init --quiet --initial-branch=main --template= .
  git add --all --force .
  git commit --quiet --allow-empty --no-verify --message "$subject"
  rm -rf .git/logs
fi
test "$(git rev-list --all --count)" = 1
git cat-file --batch-all-objects --batch-check='%(objectname)' | sort > "$2/all"
git rev-list --objects --all | cut -c1-40 | sort > "$2/reachable"
cmp "$2/all" "$2/reachable"
test -z "$(git for-each-ref --format='%(refname)' | grep -v '^refs/heads/main$')"
test ! -e .git/objects/info/alternates
"""
# Git hashes files again that are not older than its index, and touches their objects.
_TRUST_INDEX = ("touch", "-d", "2100-01-01T00:00:00", ".git/index")
_TOUCH_TIMEOUT = timedelta(minutes=1)
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
    sandbox = _open_sandbox(context, opened, (_mount_of(mirror),))
    result = _fetch_commit(context, sandbox, mirror)
    evidence = Evidence(command=result, memory_limit_mib=task.environment.memory_mib)
    return CloneOutput(evidence=evidence, sandbox=sandbox, mirror=mirror)


def _mount_of(mirror: Mirror) -> ReadOnlyMount:
    return ReadOnlyMount(name=_MIRROR, source=mirror.path, shared=True)


def _fetch_commit(context: StageContext, sandbox: Sandbox, mirror: Mirror) -> CommandResult:
    where = (str(sandbox.results), str(sandbox.workspace), str(sandbox.mounted(_MIRROR)))
    revision = mirror.commit if mirror.has_commit else "HEAD"
    origin = "shared" if context.shared_setup is not None else "image"
    return sandbox.run(
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


def git_checkout(context: StageContext, clone: CloneOutput) -> StageOutput:
    """Write the commit's files and remove its history; the script checks that no history is left.

    Raises:
        GitCheckoutError: the repository has no such commit, or a patch of the task does not fit it.
        SandboxError: the sandbox is lost.
    """
    mirror, sandbox, task = clone.mirror, clone.sandbox, context.task
    if mirror is None:
        return StageOutput(evidence=Evidence())  # there is no repository, and so no history
    if not mirror.has_commit:
        repository = without_credentials(task.source.url or "the repository")
        raise GitCheckoutError(f"{repository} has no commit {mirror.commit}; check [repo] commit")
    _check_patches(context, mirror)
    result = _write_files(context, sandbox)
    evidence = Evidence(command=result, memory_limit_mib=task.environment.memory_mib)
    return StageOutput(evidence=evidence)


def _write_files(context: StageContext, sandbox: Sandbox) -> CommandResult:
    where = (str(sandbox.workspace), str(sandbox.results))
    return sandbox.run(
        Command(
            argv=("sh", "-c", _CHECKOUT_SCRIPT, "git_checkout", *where),
            timeout=stage_timeout(StageName.GIT_CHECKOUT, context.task, context.settings),
            env=_CHECKOUT_ENVIRONMENT,
            sink=context.sink,
        )
    )


def check_out_shared(context: StageContext, opened: ExitStack) -> Sandbox | None:
    """Check out the task's commit in a new sandbox, for tasks with similar commits to start from.

    Returns:
        The sandbox; None if it failed.

    Raises:
        GitCloneError: the origin cannot be mirrored.
        SandboxError: the sandbox is lost.
    """
    mirror = context.mirrors.of(context.task.source)
    sandbox = _open_sandbox(context, opened, (_mount_of(mirror),))
    is_done = (
        mirror.has_commit
        and _fetch_commit(context, sandbox, mirror).ok
        and _write_files(context, sandbox).ok
        and sandbox.run(Command(argv=_TRUST_INDEX, timeout=_TOUCH_TIMEOUT)).ok
    )
    return sandbox if is_done else None


def _check_patches(context: StageContext, mirror: Mirror) -> None:
    key = context.task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            apply_patch_to_commit(patch, mirror)
        except PatchDoesNotApplyError as error:
            where = context.task.folder / name
            raise GitCheckoutError(f"{where}: {error}") from None


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
    """The remaining commands, each with its variables."""
    task = context.task
    if context.shared_setup is None:
        # The version is for the project, not for the packages that it needs.
        yield from ((line, task.environment.env) for line in task.setup.shared)
    versions = version_settings(mirror) if task.setup.commands else {}
    yield from ((line, {**versions, **task.environment.env}) for line in task.setup.commands)


def version_settings(mirror: Mirror | None) -> dict[str, str]:
    """The version of the commit, for projects that would read it from the removed history.

    The variables are those of setuptools-scm, which hatch-vcs also reads, and of pbr, which
    supports neither epochs nor local versions.
    """
    # Imported here, since this imports several parsers.
    from packaging.version import Version

    from agentbench.tasks.project_versions import scm_version

    text = scm_version(mirror) if mirror is not None else None
    if text is None:
        return {}
    version = Version(text)
    pbr = {} if version.epoch else {"PBR_VERSION": version.public}
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": text, **pbr}
