"""Our files for commands of another user: seen in place where that user gets, else copied."""

import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from agentbench.sandbox.interface import ReadOnlyMount
from agentbench.sandbox.sandbox_user import can_reach
from agentbench.sandbox.trees import Owner, copy_tree


def places_of(
    mounts: Iterable[ReadOnlyMount], copies: Path, user: Owner | None
) -> Mapping[str, PurePosixPath]:
    """Where commands find the mounts, by name.

    A home folder such as root's lets nobody else through: what is in it is copied.

    Args:
        mounts: What commands are to see.
        copies: A folder that is made if it is needed.
        user: Whom commands run as; None: as ourselves.

    Raises:
        OSError: the disk is full, or a source is gone.
    """
    return {mount.name: PurePosixPath(_place_of(mount, copies, user)) for mount in mounts}


def _place_of(mount: ReadOnlyMount, copies: Path, user: Owner | None) -> Path:
    source = mount.source.resolve()
    if user is None or mount.live or _is_readable(source, user):
        return source
    copies.mkdir(mode=0o755, exist_ok=True)
    target = copies / mount.name
    if source.is_dir():
        target.mkdir()
        copy_tree(source, target)
    else:
        shutil.copyfile(source, target)
    _open_to_readers(target)
    return target


def _is_readable(source: Path, user: Owner) -> bool:
    """Whether a user gets to a source and may read it, going by its top."""
    folder = source if source.is_dir() else source.parent
    return bool(source.stat().st_mode & stat.S_IROTH) and can_reach(user, folder)


def _open_to_readers(copy: Path) -> None:
    """Let all read a copy that stays ours: a mount is no place for commands to write to."""
    for path in (copy, *copy.rglob("*")):
        if not path.is_symlink():
            program = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if program else 0o644)
