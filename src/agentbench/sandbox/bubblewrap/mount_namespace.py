"""A thread in its own mount namespace, which shows folders to a user who cannot reach them.

If the harness is root, bwrap runs as another user, who cannot pass folders such as root's home,
where the interpreter may be. Bwrap resolves every source by its name, also those of `--bind-fd`. So
one thread has its own mount namespace, binds each source in a folder that all users can enter, and
starts bwrap from there. Nothing else sees these mounts, and they end with the process.
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
_OUR_OWN = Path("/run/agentbench")  # if none of these is empty

_T = TypeVar("_T")


class MountNamespace:
    """The thread with its mounts; thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Enter the namespace.

        Raises:
            OSError: this process may not create one.
        """
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentbench-mounts")
        self._own: int | None = None
        self._in_thread(self._enter)

    def show(self, source: Path) -> Path:
        """Bind a file or folder; returns its path for processes of `start`.

        Raises:
            OSError: it does not exist.
        """
        # Random, since a sandbox sees it: numbers would reveal the order of sandboxes.
        target = self._folder / secrets.token_hex(8)

        def bind() -> Path:
            """Bind the source at the target."""
            if source.is_dir():
                target.mkdir()
            else:
                target.touch()
            _mount(os.fspath(source), target, None, _BIND | _RECURSIVE)
            return target

        return self._in_thread(bind)

    def hide(self, shown: Path) -> None:
        """Undo one `show`.

        Raises:
            OSError: it was not shown.
        """

        def unbind() -> None:
            """Unmount and remove the target."""
            _check(_libc().umount2(os.fsencode(shown), _DETACH))
            if shown.is_dir():
                shown.rmdir()
            else:
                shown.unlink()

        self._in_thread(unbind)

    def start(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a process that sees the mounts.

        Raises:
            OSError: it cannot be started.
        """
        return self._in_thread(start)

    def _in_thread(self, action: Callable[[], _T]) -> _T:
        if get_ident() == self._own:  # when the garbage collector closes a sandbox
            return action()
        return self._thread.submit(action).result()

    def _enter(self) -> None:
        _check(_libc().unshare(_NEW_MOUNTS))
        _mount(None, Path("/"), None, _RECURSIVE | _SLAVE)  # the machine's new mounts appear here
        _mount("agentbench", self._folder, "tmpfs", 0)
        self._folder.chmod(0o755)
        self._own = get_ident()


def mount_namespace() -> MountNamespace | None:
    """The mount namespace of this process; None if it is not needed or not allowed."""
    return _namespace_of(os.getpid())  # a forked child has no thread of its parent's


@cache
def _namespace_of(_pid: int) -> MountNamespace | None:
    if os.geteuid() != 0:
        return None
    try:
        return MountNamespace(_empty_folder(_OFTEN_EMPTY))
    except OSError:
        return None


def _empty_folder(candidates: Sequence[Path]) -> Path:
    """A folder in which a mount hides nothing."""
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
