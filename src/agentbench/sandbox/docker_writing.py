"""Files put into a container's volume as into the folder of this machine that it is.

What is there already was laid out by strangers, and may be changed by them meanwhile: every name
is opened below an open folder and no link is followed. Whatever is not a matter of course is left
to the engine, which knows the container's own root: a link or a file in the place of a folder, a
folder in the place of a file, an owner that is another number on this machine.
"""

import io
import os
import stat
import tarfile
from contextlib import suppress
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.sandbox.docker_options import USER_ID
from agentbench.sandbox.no_follow import FOLDER, open_below

_NEW_FOLDER = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE})


class _NotHereError(Exception):
    """The engine is to do it."""


def write_here(volume: Path, parts: tuple[str, ...], tar: bytes, doing: str) -> bool:
    """Unpack a plain tar below a folder in a volume; all members will belong to the user.

    Returns:
        Whether that was done; else the engine has to do it, over what may be there of it.

    Raises:
        SandboxError: it is no plain tar, or the disk takes no more.
    """
    try:
        root = open_below(volume, ())
        try:
            if os.fstat(root).st_uid != USER_ID:  # the engine has numbers of its own for users
                return False
            os.close(_folder(root, parts))
            with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
                for member in archive:
                    _put(root, (*parts, *_names(member)), member, archive)
                for member in filter(tarfile.TarInfo.isdir, archive):
                    _finish(root, (*parts, *_names(member)), member)
        finally:
            os.close(root)
    except _NotHereError:
        return False
    except tarfile.TarError as fault:
        raise SandboxError(f"{doing}: not a plain tar: {fault}") from fault
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
    return True


def _names(member: tarfile.TarInfo) -> tuple[str, ...]:
    names = tuple(name for name in member.name.split("/") if name not in {"", "."})
    if ".." in names or member.name.startswith("/") or member.type not in _KINDS:
        raise _NotHereError
    return names


def _put(
    root: int, names: tuple[str, ...], member: tarfile.TarInfo, archive: tarfile.TarFile
) -> None:
    if member.isdir():
        os.close(_folder(root, names))
        return
    if not names:
        raise _NotHereError
    above = _folder(root, names[:-1])
    try:
        with suppress(FileNotFoundError):
            _unlink(names[-1], above)
        if member.issym():
            os.symlink(member.linkname, names[-1], dir_fd=above)
            os.chown(names[-1], USER_ID, USER_ID, dir_fd=above, follow_symlinks=False)
            os.utime(names[-1], (member.mtime, member.mtime), dir_fd=above, follow_symlinks=False)
        else:
            source = archive.extractfile(member)
            _write(names[-1], above, source.read() if source is not None else b"", member)
    finally:
        os.close(above)


def _finish(root: int, names: tuple[str, ...], member: tarfile.TarInfo) -> None:
    """Give a folder its mode and time, which what was put into it has changed."""
    folder = _folder(root, names)
    try:
        os.fchmod(folder, stat.S_IMODE(member.mode))
        os.utime(folder, (member.mtime, member.mtime))
    finally:
        os.close(folder)


def _folder(root: int, names: tuple[str, ...]) -> int:
    """A folder below another one, made if need be."""
    here = os.dup(root)
    for name in names:
        try:
            deeper = _step(name, here)
        finally:
            os.close(here)
        here = deeper
    return here


def _step(name: str, above: int) -> int:
    made = False
    try:
        os.mkdir(name, _NEW_FOLDER, dir_fd=above)
        made = True
    except FileExistsError:
        pass
    try:
        folder = os.open(name, FOLDER, dir_fd=above)
    except OSError as fault:
        raise _NotHereError from fault
    if made:
        os.fchown(folder, USER_ID, USER_ID)
        os.fchmod(folder, _NEW_FOLDER)
    return folder


def _unlink(name: str, above: int) -> None:
    try:
        os.unlink(name, dir_fd=above)
    except (IsADirectoryError, PermissionError) as fault:
        raise _NotHereError from fault


def _write(name: str, above: int, content: bytes, member: tarfile.TarInfo) -> None:
    try:
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=above)
    except FileExistsError as fault:  # somebody was quicker
        raise _NotHereError from fault
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchown(descriptor, USER_ID, USER_ID)
        os.fchmod(descriptor, stat.S_IMODE(member.mode))
        os.utime(descriptor, (member.mtime, member.mtime))
