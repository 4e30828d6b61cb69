"""What a patch of a file touches, and whether it stays within its repository."""

import re
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile

from agentbench.tasks.host_git import git

_CRLF = re.compile(rb"^diff --git [^\n]*\r$", re.MULTILINE)
_NO_FILE = re.compile(rb"^(?:new file mode|new mode) (?:120000|160000)$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UnfitPatchError(ValueError):
    """A patch that no task may have; the text says why."""


def files_of(patch: bytes) -> tuple[PurePosixPath, ...]:
    """The files that a patch touches, in its order.

    Raises:
        UnfitPatchError: it is no git patch, makes a symlink, or leaves the repository.
    """
    if b"\0" in patch:
        raise UnfitPatchError("bears a NUL, which no text patch can")
    if _CRLF.search(patch):
        raise UnfitPatchError("its lines end in CRLF; give it the line ends that git wrote")
    if _NO_FILE.search(patch):
        raise UnfitPatchError("makes a symlink or a submodule; expected regular files alone")
    paths = tuple(map(PurePosixPath, _named(patch)))
    for path in paths:
        _refuse_outside(path)
    return paths


def as_bytes(patch: str) -> bytes:
    """A patch with a line end at its end: git takes one without for cut off, and GNU patch not."""
    return (patch if patch.endswith("\n") else f"{patch}\n").encode()


def _named(patch: bytes) -> list[str]:
    with NamedTemporaryFile(prefix="agentbench-patch-") as scratch:
        scratch.write(patch)
        scratch.flush()
        answer = git("apply", "--numstat", "-z", "--", scratch.name, cwd=Path(scratch.name).parent)
    if not answer.ok:
        raise UnfitPatchError(f"is no git patch: {answer.complaint}")
    # Lines added, lines removed, and the path; of a file that moved the one where it is now.
    fields = answer.stdout.decode("utf-8", "replace").split("\0")[:-1]
    return [field.split("\t", 2)[2] for field in fields]


def _refuse_outside(path: PurePosixPath) -> None:
    parts = path.parts
    if path.is_absolute() or ".." in parts:
        raise UnfitPatchError(f"{str(path)!r} leaves the repository")
    if any(part.lower() == ".git" for part in parts):
        raise UnfitPatchError(f"{str(path)!r} is one of git's own files")
    if not parts or parts[0].startswith("-") or _CONTROL.search(str(path)):
        raise UnfitPatchError(f"{str(path)!r} is no plain path")
