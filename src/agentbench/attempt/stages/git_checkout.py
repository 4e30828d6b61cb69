"""git_checkout: the commit's files, in a new repository that has no history."""

from agentbench.attempt.context import CloneOutput, StageContext, StageOutput
from agentbench.attempt.settings import stage_timeout
from agentbench.core.display_text import without_credentials
from agentbench.errors import GitCheckoutError
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.taxonomy import StageName

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
    key = context.task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            apply_patch_to_commit(patch, mirror)
        except PatchDoesNotApplyError as error:
            where = context.task.folder / name
            raise GitCheckoutError(f"{where}: {error}") from None
    result = check_out(context, sandbox)
    evidence = Evidence(command=result, memory_limit_mib=task.environment.memory_mib)
    return StageOutput(evidence=evidence)


def check_out(context: StageContext, sandbox: Sandbox) -> CommandResult:
    """Run the command that writes the files of a fetched commit."""
    where = (str(sandbox.workspace), str(sandbox.results))
    return sandbox.run(
        Command(
            argv=("sh", "-c", _CHECKOUT_SCRIPT, "git_checkout", *where),
            timeout=stage_timeout(StageName.GIT_CHECKOUT, context.task, context.settings),
            env=_CHECKOUT_ENVIRONMENT,
            sink=context.sink,
        )
    )
