"""The sandbox of bubblewrap and process: private host folders, and how commands see them.

The `CommandRunner`, which starts commands, is an argument.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from tarfile import BLOCKSIZE
from threading import Condition, Event, get_ident
from typing import Protocol, Self

from agentbench.core.files import own_folder
from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError
from agentbench.sandbox.archives import UNPACK, tar_stream
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch
from agentbench.sandbox.interface import Command, SnapshotId
from agentbench.sandbox.tree_writing import unpack_below
from agentbench.sandbox.trees import FileOwner, closing_descriptor, open_below, remove_tree
from agentbench.scoring.evidence import CommandResult, Ending

_FOLDER_NAMES = ("workspace", "results", "home", "tmp", "venv", "work")
_UNPACKS_WITHIN = timedelta(minutes=10)
_DIES_WITHIN = 10.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFolders:
    """The folders that a sandbox may write to, all below one that only we can list."""

    root: Path
    workspace: Path  # the task's repository
    results: Path  # the output of reporters
    home: Path
    tmp: Path  # /tmp on disk, so that it lasts from one command to the next
    venv: Path  # the virtual environment, or the upper folder of its overlay
    work: Path  # the work folder of this overlay

    @classmethod
    def of(cls, root: Path) -> Self:
        """The folders below a root; none is created."""
        return cls(root=root, **{name: root / name for name in _FOLDER_NAMES})

    @property
    def all(self) -> tuple[Path, ...]:
        """Every folder except the root."""
        return (self.workspace, self.results, self.home, self.tmp, self.venv, self.work)


@contextmanager
def sandbox_folders(parent: Path, prefix: str, owner: FileOwner | None) -> Iterator[SandboxFolders]:
    """Create empty folders, removed at the end; until then a lock marks them as in use.

    Raises:
        OSError: the disk is full, or `parent` cannot be written.
    """
    parent.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    folders = SandboxFolders.of(root)
    try:
        root.chmod(0o711)  # the sandbox's user may pass through, but not list it
        with own_folder(root):
            try:
                for folder in folders.all:
                    folder.mkdir(mode=0o700)
                    if owner is not None:
                        os.chown(folder, owner.uid, owner.gid)
                yield folders
            finally:  # until the lock is released; after a kill, others see that the owner is dead
                for folder in folders.all:
                    remove_tree(folder)
    finally:
        remove_tree(root)


def base_environment(home: PurePath, venv: PurePath) -> dict[str, str]:
    """The variables of every command in a sandbox of folders."""
    return {
        "PATH": f"{venv}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "VIRTUAL_ENV": str(venv),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class InsidePaths:
    """The paths at which commands see the folders and the mounts."""

    workspace: PurePosixPath
    results: PurePosixPath
    home: PurePosixPath
    tmp: PurePosixPath
    python: PurePosixPath  # the interpreter, which nothing in the sandbox can change
    mounts: Mapping[str, PurePosixPath]

    @classmethod
    def of_host(
        cls, folders: SandboxFolders, python: Path, mounts: Mapping[str, PurePosixPath]
    ) -> Self:
        """The paths of commands that see the host's own file system."""
        paths = (folders.workspace, folders.results, folders.home, folders.tmp, python)
        workspace, results, home, tmp, interpreter = map(PurePosixPath, paths)
        return cls(
            workspace=workspace, results=results, home=home, tmp=tmp, python=interpreter,
            mounts=mounts,
        )  # fmt: skip

    def host_folder_of(
        self, path: PurePosixPath, folders: SandboxFolders
    ) -> tuple[Path, tuple[str, ...]]:
        """The host folder that contains a path, and the names from there to the path.

        Raises:
            SandboxError: the path is outside the writable folders, or contains `..`.
        """
        for inside, folder in (
            (self.workspace, folders.workspace),
            (self.results, folders.results),
            (self.home, folders.home),
            (self.tmp, folders.tmp),
        ):
            if path.is_relative_to(inside) and ".." not in path.parts:
                return folder, path.relative_to(inside).parts
        raise SandboxError(f"{path} is outside the folders that the sandbox may write to")


class CommandRunner(Protocol):
    """Runs the commands of one sandbox."""

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        """Run a command until its end, its deadline, or until `stop` returns true.

        Raises:
            SandboxError: the command could not be started with the isolation of the sandbox.
        """


@dataclass(slots=True, kw_only=True)
class FolderSandbox:
    """The `Sandbox` of bubblewrap and process."""

    folders: SandboxFolders
    paths: InsidePaths
    runner: CommandRunner
    save: Callable[[str], SnapshotId]
    cancel: Event
    watch: DiskWatch | None  # None: it may fill the disk
    _killed: Event = field(default_factory=Event)
    _idle: Condition = field(default_factory=Condition)
    _running: list[int] = field(default_factory=list)  # the ids of threads in `run`

    @property
    def workspace(self) -> PurePosixPath:
        return self.paths.workspace

    @property
    def results(self) -> PurePosixPath:
        return self.paths.results

    def mounted(self, name: str) -> PurePosixPath:
        return self.paths.mounts[name]

    def run(self, command: Command) -> CommandResult:
        watch = self.watch

        def must_end() -> bool:
            is_over = command.cancelled or self._killed.is_set() or self.cancel.is_set()
            return is_over or (watch is not None and bool(watch.exceeded()))

        run = partial(self.runner.run, command, must_end)
        self._refuse_if_over()
        with self._counted():
            result = run() if watch is None else watch.watched(run)
        self._refuse_if_over()
        if command.cancelled:
            raise RunCancelled
        return result

    def kill(self) -> None:
        """See Sandbox.kill; returns when the processes are dead."""
        self._killed.set()
        with self._idle:
            own = get_ident()  # a sink may call `kill`; its own command ends afterwards
            self._idle.wait_for(lambda: set(self._running) <= {own}, _DIES_WITHIN)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        folder, names = self.paths.host_folder_of(path, self.folders)
        try:
            descriptor = open_below(folder, names)
        except OSError as fault:
            raise SandboxError(f"{path} cannot be read: {fault.strerror}") from fault
        with closing_descriptor(descriptor):
            yield tar_stream(descriptor)

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        if self._write_from_host(path, tar):
            return
        argv = (str(self.paths.python), "-I", "-S", "-c", UNPACK, str(path))
        result = self.run(Command(argv=argv, timeout=_UNPACKS_WITHIN, stdin=tar))
        if not result.ok:
            why = (result.stderr.strip() or result.ending).splitlines()[-1]
            if result.ending is Ending.OUT_OF_DISK:
                limit = f"limit {result.exceeded}"
                raise DoesNotFitError(f"{path} cannot be written: {why} ({limit})")
            raise SandboxError(f"{path} cannot be written: {why}")

    def _write_from_host(self, path: PurePosixPath, tar: bytes) -> bool:
        """Unpack a tar without a process (40 ms); returns whether all entries were usual."""
        self._refuse_if_over()
        try:
            folder, names = self.paths.host_folder_of(path, self.folders)
        except SandboxError:  # only the sandbox knows what is at this path
            return False
        with self._counted(), closing_descriptor(open_below(folder, ())) as root:
            facts = os.fstat(root)
            if os.geteuid() not in {0, facts.st_uid}:
                return False
            owner = FileOwner(uid=facts.st_uid, gid=facts.st_gid)
            if self.watch is not None:
                self.watch.begin()
            try:
                written = unpack_below(root, names, tar, owner, f"{path} cannot be written")
            finally:
                most = DiskUsage(bytes=len(tar), files=len(tar) // BLOCKSIZE)  # each has a header
                exceeded = "" if self.watch is None else self.watch.end(most)
        self._refuse_if_over()
        if exceeded:
            raise DoesNotFitError(f"{path} cannot be written: limit {exceeded}")
        return written

    def snapshot(self, key: str) -> SnapshotId:
        self._refuse_if_over()
        try:
            return self.save(key)
        except OSError as fault:
            raise SandboxError(f"cannot save the snapshot {key}: {fault}") from fault

    def _refuse_if_over(self) -> None:
        if self.cancel.is_set():
            raise RunCancelled
        if self._killed.is_set():
            raise SandboxError("the sandbox was killed")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._idle:
            self._running.append(get_ident())
        try:
            yield
        finally:
            with self._idle:
                self._running.remove(get_ident())
                self._idle.notify_all()
