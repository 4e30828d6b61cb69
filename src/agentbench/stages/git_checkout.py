"""git_checkout: the buggy commit as the only thing that the workspace's repository knows."""

from datetime import timedelta

from agentbench.errors import GitCheckoutError
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import Evidence
from agentbench.stages.interface import StageContext
from agentbench.tasks.host_git import without_credentials
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of

TIMEOUT = timedelta(minutes=10)
"""How long writing the files out may take."""

# One new commit of the exported files: no parent, remote, tag, reflog or stray object is left.
# The author and date are fixed, so that nothing of the upstream commit shows.
_SCRIPT = """\
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

_ENV = {
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
                _SCRIPT,
                "git_checkout",
                str(sandbox.workspace),
                str(sandbox.results),
            ),
            timeout=context.scaled(TIMEOUT.total_seconds()),
            env=_ENV,
            sink=context.sink,
        )
    )
    return Evidence(command=result, memory_limit_mib=context.task.environment.memory_mib)


def _check_patches(context: StageContext) -> None:
    assert context.mirror is not None
    key = context.task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            overlay_of(patch, context.mirror)
        except PatchDoesNotApplyError as error:
            where = context.task.folder / name
            raise GitCheckoutError(f"{where}: does not apply to the base commit: {error}") from None
