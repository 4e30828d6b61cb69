"""A thread in a mount namespace of its own.

Which shows folders to a user who may not walk to them.

When the harness is root and drops its user before starting bwrap, that user cannot pass folders
such as root's home, where the interpreter may lie; bwrap resolves every source by its name, those
of `--bind-fd` too. So one thread of ours lives in a mount namespace of its own, binds each source
below a folder that everybody can enter, and starts bwrap from there. The rest of the process and of
the machine see nothing of it, and it is gone with the process.
"""

import ctypes
import os
import secrets
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Final, TypeVar

_NEW_MOUNTS: Final = 0x00020000  # CLONE_NEWNS
_BIND, _RECURSIVE, _SLAVE, _DETACH = 4096, 16384, 1 << 19, 2
_OFTEN_EMPTY = (Path("/media"), Path("/srv"), Path("/mnt"))
_OUR_OWN = Path("/run/agentbench")  # where none of these is empty

_T = TypeVar("_T")


class MountNamespace:
    """The thread with its mounts; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """Enter the namespace.

        Raises:
            OSError: this process may not make one.
        """
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentbench-mounts")
        self._own: int | None = None
        self._in_thread(self._enter)

    def show(self, source: Path) -> Path:
        """Bind a file or folder; returns where it is seen by what `start` starts.

        Raises:
            OSError: it is not there.
        """
        # Random, since a sandbox sees it: numbers would tell in which order sandboxes are made.
        target = self._folder / secrets.token_hex(8)
        return self._in_thread(lambda: self._bind(source, target))

    def hide(self, shown: Path) -> None:
        """Undo one `show`.

        Raises:
            OSError: it was not shown.
        """
        self._in_thread(lambda: self._unbind(shown))

    def start(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a process that sees what is shown.

        Raises:
            OSError: it cannot be started.
        """
        return self._in_thread(start)

    def _in_thread(self, action: Callable[[], _T]) -> _T:
        if get_ident() == self._own:  # where the collector closes a sandbox that nobody closed
            return action()
        return self._thread.submit(action).result()

    def _enter(self) -> None:
        _check(_libc().unshare(_NEW_MOUNTS))
        _mount(None, Path("/"), None, _RECURSIVE | _SLAVE)  # what the machine mounts comes in
        _mount("agentbench", self._folder, "tmpfs", 0)
        self._folder.chmod(0o755)
        self._own = get_ident()

    @staticmethod
    def _bind(source: Path, target: Path) -> Path:
        if source.is_dir():
            target.mkdir()
        else:
            target.touch()
        _mount(os.fspath(source), target, None, _BIND | _RECURSIVE)
        return target

    @staticmethod
    def _unbind(target: Path) -> None:
        _check(_libc().umount2(os.fsencode(target), _DETACH))
        if target.is_dir():
            target.rmdir()
        else:
            target.unlink()


def mount_namespace() -> MountNamespace | None:
    """The stage of this process; None where it is not needed or not allowed."""
    return _namespace_of(os.getpid())


@cache
def _namespace_of(
    _pid: int,
) -> MountNamespace | None:  # a forked child has no thread of its parent's
    if os.geteuid() != 0:
        return None
    try:
        return MountNamespace(_empty_folder(_OFTEN_EMPTY))
    except OSError:
        return None


def _empty_folder(candidates: Sequence[Path]) -> Path:
    """A folder that hides nothing when something is mounted over it."""
    for folder in candidates:
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            return folder
    _OUR_OWN.mkdir(exist_ok=True)
    return _OUR_OWN


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mount(source: str | None, target: Path, kind: str | None, flags: int) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, kind)]
    call = _libc().mount(encoded[0], os.fsencode(target), encoded[1], ctypes.c_ulong(flags), None)
    _check(call, target)


def _check(outcome: int, about: Path | None = None) -> None:
    if outcome != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), None if about is None else str(about))
