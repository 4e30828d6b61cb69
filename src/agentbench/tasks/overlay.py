"""What a git patch makes of a commit: the files it adds, changes and takes away.

Worked out on the host once per task, on the harness's own mirror, so that no git has to run in
the container that judges.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.owned_folder import owned_folder
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.patched_file import PatchedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The files of a patch, by path: as they become, or `None` where they are taken away."""

    files: Mapping[PurePosixPath, PatchedFile | None]


class PatchDoesNotApplyError(ValueError):
    """A patch does not fit the commit; the text is git's own complaint."""


def overlay_of(patch: bytes, mirror: Mirror) -> Overlay:
    """Apply a patch to the mirror's commit, in a scratch index.

    Raises:
        PatchDoesNotApplyError: git refuses it, or it makes a symlink or submodule.
    """
    return _worked_out(patch, mirror.path, mirror.commit) if patch.strip() else Overlay(files={})


@lru_cache(maxsize=64)  # attempts at a task follow one another
def _worked_out(patch: bytes, repository: Path, commit: str) -> Overlay:
    with owned_folder("agentbench-patch-") as folder:
        (folder / "objects").mkdir()
        (folder / "patch").write_bytes(patch)
        env = {
            "GIT_DIR": str(repository),
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository / "objects"),
        }
        _ask(env, "read-tree", commit)
        _ask(env, "apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        listing = _ask(env, "diff-index", "--cached", "-z", "--raw", "--no-renames", commit)
        return Overlay(files=MappingProxyType(_files(listing, env)))


def _files(listing: bytes, env: Mapping[str, str]) -> dict[PurePosixPath, PatchedFile | None]:
    fields = listing.split(b"\0")
    files: dict[PurePosixPath, PatchedFile | None] = {}
    for meta, raw_path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, status = meta.decode().split()
        path = PurePosixPath(os.fsdecode(raw_path))
        if status == "D":
            files[path] = None
        elif not mode.startswith("100"):
            raise PatchDoesNotApplyError(f"{path} is no regular file")
        else:
            content = _ask(env, "cat-file", "blob", blob)
            files[path] = PatchedFile(content=content, executable=mode == "100755")
    return files


def _ask(env: Mapping[str, str], *arguments: str) -> bytes:
    answer = git(*arguments, cwd=Path(env["GIT_DIR"]), env=env)
    if not answer.ok:
        raise PatchDoesNotApplyError(answer.complaint)
    return answer.stdout
