"""The files of a commit, written into a folder, or as a patch changes them.

A patch is applied on the host, once per task and on the harness's own mirror, so that no git has
to run in the container that judges.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.core.files import FileContent, owned_folder
from agentbench.errors import InputError
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror

PatchedFiles = Mapping[PurePosixPath, FileContent | None]
"""The files of a patch, by path: their new content, or `None` if they are deleted."""


class PatchDoesNotApplyError(ValueError):
    """A patch does not apply to the commit; the text is git's error message."""


def apply_patch_to_commit(patch: bytes, mirror: Mirror) -> PatchedFiles:
    """Apply a patch to the mirror's commit, in a scratch index.

    Raises:
        PatchDoesNotApplyError: git refuses it, or it creates a symlink or a submodule.
    """
    return _patched_files(patch, mirror) if patch.strip() else {}


@lru_cache(maxsize=64)  # the attempts at a task use the same patches
def _patched_files(patch: bytes, mirror: Mirror) -> PatchedFiles:
    commit = mirror.commit
    with scratch_index(mirror) as (folder, env):
        (folder / "patch").write_bytes(patch)
        _git_output(env, "read-tree", commit)
        _git_output(env, "apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        listing = _git_output(env, "diff-index", "--cached", "-z", "--raw", "--no-renames", commit)
        return MappingProxyType(_listed_files(listing, env))


@contextmanager
def scratch_index(mirror: Mirror) -> Iterator[tuple[Path, dict[str, str]]]:
    """A scratch folder, and git's variables for an index and new objects in it."""
    with owned_folder("agentbench-patch-") as folder:
        (folder / "objects").mkdir()
        yield (
            folder,
            {
                **mirror.git_env,
                "GIT_INDEX_FILE": str(folder / "index"),
                "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(mirror.path / "objects"),
            },
        )


def _listed_files(
    listing: bytes, env: Mapping[str, str]
) -> dict[PurePosixPath, FileContent | None]:
    fields = listing.split(b"\0")
    files: dict[PurePosixPath, FileContent | None] = {}
    for meta, raw_path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, status = meta.decode().split()
        path = PurePosixPath(os.fsdecode(raw_path))
        if status == "D":
            files[path] = None
        elif not mode.startswith("100"):
            raise PatchDoesNotApplyError(f"{path} is not a regular file")
        else:
            content = _git_output(env, "cat-file", "blob", blob)
            files[path] = FileContent(content=content, executable=mode == "100755")
    return files


def _git_output(env: Mapping[str, str], *arguments: str) -> bytes:
    return git(*arguments, cwd=Path(env["GIT_DIR"]), env=env).output_or(PatchDoesNotApplyError)


def write_commit_files(mirror: Mirror, commit: str, folder: Path) -> None:
    """Write a commit's files into a new folder, also those that `.gitattributes` excludes.

    Raises:
        InputError: the repository is damaged.
        OSError: the folder cannot be created.
    """
    folder.mkdir(parents=True)
    with scratch_index(mirror) as (_, env):
        env["GIT_WORK_TREE"] = str(folder.resolve())
        for arguments in (("read-tree", commit), ("checkout-index", "--all", "--force")):
            git(*arguments, cwd=folder, env=env).output_or(
                lambda message: InputError(f"{commit}: cannot be checked out: {message}")
            )
