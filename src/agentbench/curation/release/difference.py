"""Two unpacked releases as two commits, and what lies between them as a fix."""

import re
from pathlib import Path

from agentbench.errors import InputError
from agentbench.tasks.history.commit import find_commit
from agentbench.tasks.history.fix import Fix, read_fix
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror

_DEFINED = re.compile(r"(?:[+ ]|@@ .* @@)\s*(?:async )?def (?P<name>test\w*)")
_LARGEST_PATCH = 4 << 20
_INIT = ("init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".")
_COMMIT = ("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "A release")


def difference(old: Path, new: Path, scratch: Path) -> Fix:
    """What the newer tree changes of the older one, its tests and the rest apart.

    Args:
        old: The files of the older release.
        new: The files of the newer one.
        scratch: A folder for a repository; it has to last as long as nobody reads the fix.

    Raises:
        InputError: it makes no task, and why; or it is too large.
    """
    repository = scratch / "releases.git"
    repository.mkdir()
    _git(_INIT, repository, {})
    for tree in (old, new):
        where = {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(tree)}
        _git(("add", "--all", "--force", "--", "."), tree, where)
        _git(_COMMIT, tree, where)
    mirror = Mirror(path=repository, commit="main")
    found = read_fix(mirror, find_commit(mirror, "main"))
    if isinstance(found, str):
        raise InputError(found.replace("it ", "the newer release ", 1))
    size = len(found.tests_patch) + len(found.solution_patch)
    if size > _LARGEST_PATCH:
        raise InputError(
            f"the releases differ by {size / 2**20:.1f} MiB of patches, "
            f"expected {_LARGEST_PATCH >> 20} at most"
        )
    return found


def names_of_tests(fix: Fix) -> tuple[str, ...]:
    """The names of the test functions that the newer release adds or changes."""
    names: dict[str, None] = {}
    current = ""
    for raw in fix.tests_patch.splitlines():
        line = raw.decode("utf-8", "replace")
        if line.startswith("diff --git "):
            current = ""
        defined = _DEFINED.match(line)
        if defined is not None:
            current = defined["name"]
        if line[:1] in {"+", "-"} and current and not line.startswith(("+++", "---", "-def")):
            names.setdefault(current)
    return tuple(names)


def _git(arguments: tuple[str, ...], cwd: Path, env: dict[str, str]) -> None:
    answer = git(*arguments, cwd=cwd, env=env)
    if not answer.ok:
        raise InputError(f"the release cannot be kept as a commit: {answer.complaint}")
