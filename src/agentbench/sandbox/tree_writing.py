"""Unpacks trees from the host into folders whose content is untrusted and may change meanwhile.

Every name is opened relative to an open folder, without following links. A program in the sandbox,
which links do not lead out of, handles unusual entries: a link or file in place of a folder, a
folder in place of a file, a name with `..`, a member that is neither file, folder nor link.
"""

import io
import os
import tarfile
from contextlib import suppress

from agentbench.errors import SandboxError
from agentbench.sandbox.trees import FOLDER, FileOwner, closing_descriptor

_NEW_FOLDER = 0o755
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE})
_MODE = 0o777  # without the set-user-id and similar bits


class _UnusualEntryError(Exception):
    """A program in the sandbox has to handle the entry."""


def unpack_below(
    root: int, parts: tuple[str, ...], tar: bytes, owner: FileOwner, doing: str
) -> bool:
    """Unpack a plain tar below an open folder; all members will belong to the owner.

    Returns:
        Whether it was unpacked; if not, the sandbox has to unpack it again.

    Raises:
        SandboxError: it is not a plain tar, or the disk is full.
    """
    try:
        os.close(_folder(root, parts, owner))
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for member in archive:
                _write_member(root, (*parts, *_names(member)), member, archive, owner)
            for member in filter(tarfile.TarInfo.isdir, archive):
                # New entries have changed the time.
                with closing_descriptor(_folder(root, (*parts, *_names(member)), owner)) as folder:
                    os.fchmod(folder, member.mode & _MODE)
                    os.utime(folder, (member.mtime, member.mtime))
    except _UnusualEntryError:
        return False
    except tarfile.TarError as fault:
        raise SandboxError(f"{doing}: not a plain tar: {fault}") from fault
    except OSError as fault:
        raise SandboxError(f"{doing}: {fault}") from fault
    return True


def _names(member: tarfile.TarInfo) -> tuple[str, ...]:
    names = tuple(name for name in member.name.split("/") if name not in {"", "."})
    if ".." in names or member.name.startswith("/") or member.type not in _KINDS:
        raise _UnusualEntryError
    return names


def _write_member(
    root: int,
    names: tuple[str, ...],
    member: tarfile.TarInfo,
    archive: tarfile.TarFile,
    owner: FileOwner,
) -> None:
    if member.isdir():
        os.close(_folder(root, names, owner))
        return
    if not names:
        raise _UnusualEntryError
    name = names[-1]
    with closing_descriptor(_folder(root, names[:-1], owner)) as above:
        with suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=above)
            except (IsADirectoryError, PermissionError) as fault:
                raise _UnusualEntryError from fault
        if member.issym():
            os.symlink(member.linkname, name, dir_fd=above)
            os.chown(name, owner.uid, owner.gid, dir_fd=above, follow_symlinks=False)
            os.utime(name, (member.mtime, member.mtime), dir_fd=above, follow_symlinks=False)
            return
        try:
            descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=above)
        except FileExistsError as fault:  # another process created it
            raise _UnusualEntryError from fault
        with os.fdopen(descriptor, "wb") as file:
            source = archive.extractfile(member)
            file.write(source.read() if source is not None else b"")
            file.flush()
            os.fchown(descriptor, owner.uid, owner.gid)
            os.fchmod(descriptor, member.mode & _MODE)
            os.utime(descriptor, (member.mtime, member.mtime))


def _folder(root: int, names: tuple[str, ...], owner: FileOwner) -> int:
    """Open a folder below another one; missing folders are created."""
    current = os.dup(root)
    for name in names:
        try:
            created = False
            with suppress(FileExistsError):
                os.mkdir(name, _NEW_FOLDER, dir_fd=current)
                created = True
            try:
                deeper = os.open(name, FOLDER, dir_fd=current)
            except OSError as fault:
                raise _UnusualEntryError from fault
            if created:
                os.fchown(deeper, owner.uid, owner.gid)
                os.fchmod(deeper, _NEW_FOLDER)
        finally:
            os.close(current)
        current = deeper
    return current
