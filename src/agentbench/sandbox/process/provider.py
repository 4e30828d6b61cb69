"""The provider of process sandboxes.

Copied folders, mounts copied where commands could not read them, no isolation.

It promises nothing but that the files it works on are copies. What a command starts is ended as far
as a subreaper sees it; limits are those of a process, not of the tree; the network and the
machine's files are open to it.
"""

import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Self

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.disk_usage import DiskWatch, FolderGauge
from agentbench.sandbox.folder_sandbox import (
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    sandbox_folders,
)
from agentbench.sandbox.host_environment import (
    EnvironmentStore,
    HostPython,
    can_reach,
    host_python,
    make_environment,
    sandbox_user,
)
from agentbench.sandbox.host_network import ca_bundle, ca_variables, forwarded_settings
from agentbench.sandbox.interface import (
    ImageId,
    Limits,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SnapshotId,
)
from agentbench.sandbox.process.runner import ProcessRunner
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import FileOwner, Relocation, copy_tree


def mount_paths(
    mounts: Iterable[ReadOnlyMount], copies: Path, user: FileOwner | None
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
    return {mount.name: PurePosixPath(_mount_path(mount, copies, user)) for mount in mounts}


def _mount_path(mount: ReadOnlyMount, copies: Path, user: FileOwner | None) -> Path:
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
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            program = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if program else 0o644)
    return target


def _is_readable(source: Path, user: FileOwner) -> bool:
    """Whether a user gets to a source and may read it, going by its top."""
    folder = source if source.is_dir() else source.parent
    return bool(source.stat().st_mode & stat.S_IROTH) and can_reach(user, folder)


FOLDER_PREFIX = "agentbench-process-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessProvider:
    """Opens sandboxes that are no more than folders; get one by `connect`."""

    python: HostPython
    user: FileOwner | None  # whom commands run as, if that is not ourselves
    cache: Path  # of this back end alone
    live: Path  # where the folders of open sandboxes are
    environ: Mapping[str, str]  # the harness's own, for what a network needs

    @classmethod
    def connect(cls, *, cache_dir: Path, environ: Mapping[str, str] | None = None) -> Self:
        """Look whether Python is there, and whether an unprivileged user can run it.

        Raises:
            UnavailableError: this is no Linux, or the interpreter has no file.
        """
        python = host_python()
        if platform.system() != "Linux" or not python.executable.exists():
            raise UnavailableError(
                f"{python.executable} is not there, or this is no Linux: use --sandbox docker"
            )
        user = sandbox_user()
        return cls(
            python=python,
            user=user if can_reach(user, python.executable) else None,
            cache=cache_dir / "process",
            live=Path(tempfile.gettempdir()),
            environ=os.environ if environ is None else environ,
        )

    @property
    def name(self) -> str:
        """Its name on the command line and on records."""
        return "process"

    @property
    def promises(self) -> frozenset[Promise]:
        """None: a command can leave the tree, use the network and read the machine's files."""
        return frozenset()

    @property
    def runs_as_root(self) -> bool:
        """Whether commands keep all rights: the interpreter is out of any other user's reach."""
        return self.user is None and os.geteuid() == 0

    def describe(self) -> Mapping[str, str]:
        """Versions, and whom commands run as."""
        user = "root" if self.runs_as_root else "unprivileged"
        return {
            "backend": self.name,
            "kernel": platform.release(),
            "python": self.python.full_version,
            "user": user,
        }

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        """The folder of environments and snapshots, and that of open sandboxes."""
        return (self.cache, self.live)

    def check(self) -> None:
        """Nothing can be lost but this machine itself."""

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
    ) -> ImageId:
        """The environment of this machine's Python; made, without a network, the first time.

        Raises:
            UnavailableError: another image was asked for, or the environment cannot be made.
        """
        environments = EnvironmentStore(
            store=self._store("image"), python=self.python, back_end=self.name
        )
        return environments.resolve(image, dockerfile, self._make_environment, workdir)

    @contextmanager
    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        network: bool,
        mounts: Sequence[ReadOnlyMount] = (),
        cancel: Event | None = None,
    ) -> Iterator[Sandbox]:
        """A fresh sandbox; all of it is gone when the block ends. The network is always there.

        Raises:
            SandboxError: it could not be made.
        """
        with ExitStack() as keep:
            try:
                rooms = keep.enter_context(sandbox_folders(self.live, FOLDER_PREFIX, self.user))
                self._fill(source, rooms)
                environment = self._network_environment() if network else {}
                sandbox = self._sandbox(rooms, limits, environment, mounts, cancel or Event())
            except OSError as fault:
                raise SandboxError(f"no sandbox could be made: {fault}") from fault
            keep.callback(sandbox.kill)
            yield sandbox

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot that was made under a key."""
        return self._store("snapshot").find(key)

    def discard(self, snapshot: SnapshotId) -> None:
        """Forget a snapshot."""
        self._store("snapshot").discard(snapshot)

    def _network_environment(self) -> dict[str, str]:
        bundle = ca_bundle(self.environ)
        return forwarded_settings(self.environ) | (
            {} if bundle is None else ca_variables(str(bundle))
        )

    def _store(self, noun: str) -> SnapshotStore:
        return SnapshotStore(
            folder=self.cache / f"{noun}s", prefix=f"{self.name}-{noun}", owner=self.user
        )

    def _fill(self, source: str, rooms: SandboxFolders) -> None:
        for noun in ("image", "snapshot"):
            if not (store := self._store(noun)).holds(source):
                continue
            with store.opened(source) as state:
                # Commands see the rooms under their own path, which scripts and links mention.
                moved = Relocation(old=state.saved_at, new=str(rooms.root))
                for saved, room in ((state.workspace, rooms.workspace), (state.venv, rooms.venv)):
                    copy_tree(saved, room, owner=self.user, change=moved)
            return
        raise SandboxError(f"{source} is nothing that {self.name} made")

    def _sandbox(
        self,
        rooms: SandboxFolders,
        limits: Limits,
        environment: Mapping[str, str],
        mounts: Sequence[ReadOnlyMount],
        cancel: Event,
    ) -> FolderSandbox:
        (rooms.home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
        runner = ProcessRunner(
            python=self.python.executable,
            user=self.user,
            folder=rooms.workspace,
            limits=limits,
            environment={
                "PATH": f"{rooms.venv}/bin:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(rooms.home),
                "TMPDIR": str(rooms.tmp),
                "LANG": "C.UTF-8",
                "VIRTUAL_ENV": str(rooms.venv),
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                **environment,
            },
        )
        view = InsidePaths(
            workspace=PurePosixPath(rooms.workspace),
            results=PurePosixPath(rooms.results),
            home=PurePosixPath(rooms.home),
            tmp=PurePosixPath(rooms.tmp),
            python=PurePosixPath(self.python.executable),
            mounts=mount_paths(mounts, rooms.root / "mounts", self.user),
        )
        gauge = FolderGauge(folders=(rooms.root,), processes=tuple)
        return FolderSandbox(
            folders=rooms,
            paths=view,
            runner=runner,
            save=_saver(self._store("snapshot"), rooms),
            cancel=cancel,
            watch=DiskWatch(gauge, limits),
        )

    def _make_environment(self, key: str) -> None:
        with sandbox_folders(self.live, FOLDER_PREFIX, self.user) as rooms:
            sandbox = self._sandbox(rooms, Limits(), {}, (), Event())
            venv = PurePosixPath(rooms.venv)
            make_environment(sandbox, self.python, rooms, venv, self.user)
            self._store("image").save(key, rooms)


def _saver(store: SnapshotStore, rooms: SandboxFolders) -> Callable[[str], SnapshotId]:
    return lambda key: store.save(key, rooms)
