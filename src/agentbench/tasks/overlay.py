"""What a git patch makes of a commit: the files it adds, changes and takes away.

Worked out on the host once per task, on the harness's own mirror, so that no git has to run in
the container that judges.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

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
    if not patch.strip():
        return Overlay(files={})
    with owned_folder("agentbench-patch-") as folder:
        (folder / "objects").mkdir()
        (folder / "patch").write_bytes(patch)
        env = {
            "GIT_DIR": str(mirror.path),
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(mirror.path / "objects"),
        }
        _ask(env, mirror, "read-tree", mirror.commit)
        _ask(env, mirror, "apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        listing = _ask(
            env, mirror, "diff-index", "--cached", "-z", "--raw", "--no-renames", mirror.commit
        )
        return Overlay(files=_files(listing, env, mirror))


def _files(
    listing: bytes, env: Mapping[str, str], mirror: Mirror
) -> dict[PurePosixPath, PatchedFile | None]:
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
            content = _ask(env, mirror, "cat-file", "blob", blob)
            files[path] = PatchedFile(content=content, executable=mode == "100755")
    return files


def _ask(env: Mapping[str, str], mirror: Mirror, *arguments: str) -> bytes:
    answer = git(*arguments, cwd=mirror.path, env=env)
    if not answer.ok:
        raise PatchDoesNotApplyError(answer.complaint)
    return answer.stdout
