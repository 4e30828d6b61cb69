"""Finds the fix of a task in the git history that its folder `repo` brings along.

Runs and exports leave a `.git` out, but whoever gets the task's folder has it. It is often there
because a project was copied as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from agentbench.audit.base_tree import BaseTree, blob_hash
from agentbench.audit.patch import FilePatch
from agentbench.core.files import FileContent
from agentbench.tasks.host_git import git

_MAX_VERSIONS = 500  # of a file; a fix is rarely far from its base
_HASH_LENGTHS = {40, 64}

Answers = Mapping[PurePosixPath, FileContent | None]


def histories_with_answers(
    repo: Path, base: BaseTree, answers: Answers, solution: Iterable[FilePatch]
) -> Iterator[tuple[Path, str]]:
    """Each `.git` below a folder with a version of a file after the fix, and that file's path.

    Args:
        repo: The folder of the task's files.
        base: The files without the histories.
        answers: The files as the reference solution and the hidden tests leave them.
        solution: The reference solution.
    """
    for folder in sorted(repo.rglob(".git")):
        if not folder.is_dir():
            # A file that names a folder elsewhere.
            continue
        found = next(_answers_in(folder, base, answers, solution), None)
        if found is not None:
            yield folder.relative_to(repo.parent), found


def _answers_in(
    folder: Path, base: BaseTree, answers: Answers, solution: Iterable[FilePatch]
) -> Iterator[str]:
    env = {"GIT_DIR": str(folder)}
    for path, file in answers.items():
        if file is None or base.equal_to(file.content):
            continue
        # Also an object that no commit has any more, such as that of an amended one.
        if git("cat-file", "-e", blob_hash(file.content, "sha1"), cwd=folder, env=env).ok:
            yield str(path)
    for change in solution:
        lines = {text.strip() for _, text in change.added()} - {""}
        lines -= {line.strip() for line in (base.text(change.path) or "").splitlines()}
        # The commit of the fix may have changed more than the reference solution does.
        if lines and any(lines <= version for version in _versions(folder, env, change.path)):
            yield change.path


def _versions(folder: Path, env: Mapping[str, str], path: str) -> Iterator[set[str]]:
    """The lines of each version of a file in the commits of a history."""
    listed = git("rev-list", "--all", "--reflog", "--objects", "--", path, cwd=folder, env=env)
    if not listed.ok:
        return
    rows = (line.split(" ", 1) for line in listed.stdout.decode("utf-8", "replace").splitlines())
    blobs = [row[0] for row in rows if row[1:] == [path] and len(row[0]) in _HASH_LENGTHS]
    for blob in blobs[:_MAX_VERSIONS]:
        content = git("cat-file", "blob", blob, cwd=folder, env=env).stdout
        yield {line.strip() for line in content.decode("utf-8", "replace").splitlines()}
