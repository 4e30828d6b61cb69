"""SWE-smith's instances turned round: their patch makes the bug, and a task's patch mends it.

The state that an agent starts from is the project with the bug and without the files whose tests
show it; the hidden tests put those back.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentbench.owned_folder import owned_folder
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror


class ReversalError(ValueError):
    """An instance cannot be turned round; the text is what git says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """The parts of a task."""

    files: Path  # the state with the bug, for as long as it is open
    tests_patch: bytes
    solution_patch: bytes


@contextmanager
def reversed_bug(patch: bytes, mirror: Mirror, test_files: Iterable[str]) -> Iterator[Reversed]:
    """Apply a bug to a commit, and give what mends it.

    Args:
        patch: Makes the bug.
        mirror: Of the project; its commit is the state without the bug.
        test_files: Those whose tests show the bug; agents do not get them.

    Raises:
        ReversalError: the patch does not fit the commit, or a file of tests is not there.
    """
    with owned_folder("agentbench-reversal-") as folder:
        (folder / "objects").mkdir()
        (folder / "repo").mkdir()
        (folder / "patch").write_bytes(patch)
        env = {
            "GIT_DIR": str(mirror.path),
            "GIT_WORK_TREE": str(folder / "repo"),
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(mirror.path / "objects"),
        }
        names = sorted(set(test_files))
        _ask(env, "read-tree", mirror.commit)
        for name in names:
            _ask(env, "rm", "--cached", "--quiet", "--", f":(literal){name}")
        mended = _tree(env)
        _ask(env, "apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        buggy = _tree(env)
        _ask(env, "checkout-index", "--all")
        _ask(env, "read-tree", mirror.commit)
        _ask(env, "apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        yield Reversed(
            files=folder / "repo",
            tests_patch=_between(env, buggy, _tree(env)),
            solution_patch=_between(env, buggy, mended),
        )


def _tree(env: Mapping[str, str]) -> str:
    return _ask(env, "write-tree").decode().strip()


def _between(env: Mapping[str, str], before: str, after: str) -> bytes:
    return _ask(env, "diff-tree", "-p", "--binary", "--no-renames", before, after)


def _ask(env: Mapping[str, str], *arguments: str) -> bytes:
    answer = git(*arguments, cwd=Path(env["GIT_DIR"]), env=env)
    if not answer.ok:
        raise ReversalError(answer.complaint)
    return answer.stdout
