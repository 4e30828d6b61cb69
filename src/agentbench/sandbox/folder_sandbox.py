"""The sandbox of bubblewrap and process.

Private folders of this machine, and how commands see them. How a command starts is handed in.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Condition, Event, get_ident
from typing import Protocol

from agentbench.core.files import is_owned, own_folder
from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError
from agentbench.sandbox.archives import UNPACK, tar_stream
from agentbench.sandbox.disk_usage import DiskWatch, out_of_disk
from agentbench.sandbox.interface import Command, SnapshotId
from agentbench.sandbox.trees import FileOwner, remove_tree
from agentbench.sandbox.walk import open_below
from agentbench.scoring.evidence import CommandResult, Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFolders:
    """The folders that a sandbox may write to, all below one that only we can enter."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The task's repository."""
        return self.root / "workspace"

    @property
    def results(self) -> Path:
        """What reporters write."""
        return self.root / "results"

    @property
    def home(self) -> Path:
        """The home of the sandbox's user."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """Its /tmp; on disk, so that it lasts from one command to the next."""
        return self.root / "tmp"

    @property
    def venv(self) -> Path:
        """Its virtual environment, or what an overlay keeps of the changes to one."""
        return self.root / "venv"

    @property
    def work(self) -> Path:
        """What an overlay needs beside its upper folder."""
        return self.root / "work"

    @property
    def all(self) -> tuple[Path, ...]:
        """Every room."""
        return (self.workspace, self.results, self.home, self.tmp, self.venv, self.work)


@contextmanager
def sandbox_folders(parent: Path, prefix: str, owner: FileOwner | None) -> Iterator[SandboxFolders]:
    """Fresh rooms, removed at the end; until then a lock says that somebody lives here.

    Raises:
        OSError: the disk is full, or `parent` cannot be written.
    """
    parent.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    rooms = SandboxFolders(root=root)
    try:
        root.chmod(0o711)  # the sandbox's user walks through, and sees no name
        with own_folder(root):
            try:
                for room in rooms.all:
                    room.mkdir(mode=0o700)
                    if owner is not None:
                        os.chown(room, owner.uid, owner.gid)
                yield rooms
            finally:  # a kill in between leaves rooms whose owner can be told to be dead
                for room in rooms.all:
                    remove_tree(room)
    finally:
        remove_tree(root)


def is_lived_in(root: Path) -> bool:
    """Whether the process that made these rooms still holds its lock on them."""
    return is_owned(root)


_UNPACKS_WITHIN = timedelta(minutes=10)
_DIES_WITHIN = 10.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class InsidePaths:
    """Where commands see the rooms and the mounts."""

    workspace: PurePosixPath
    results: PurePosixPath
    home: PurePosixPath
    tmp: PurePosixPath
    python: PurePosixPath  # the interpreter that nothing in the sandbox can change
    mounts: Mapping[str, PurePosixPath]

    def host_folder_of(
        self, path: PurePosixPath, rooms: SandboxFolders
    ) -> tuple[Path, tuple[str, ...]]:
        """The folder of this machine that holds a path, and the way on from there.

        Raises:
            SandboxError: the path lies in no room, or has `..` in it.
        """
        for seen, room in (
            (self.workspace, rooms.workspace),
            (self.results, rooms.results),
            (self.home, rooms.home),
            (self.tmp, rooms.tmp),
        ):
            if path.is_relative_to(seen) and ".." not in path.parts:
                return room, path.relative_to(seen).parts
        raise SandboxError(f"{path} lies in no folder that the sandbox may write to")


class CommandRunner(Protocol):
    """Starts commands of one sandbox and sees them dead."""

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        """Run to the end, or until `stop` says so.

        Raises:
            SandboxError: it could not be started as the sandbox demands.
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
    _running: list[int] = field(default_factory=list)  # threads in `run`

    @property
    def workspace(self) -> PurePosixPath:
        """Where the task's repository lives."""
        return self.paths.workspace

    @property
    def results(self) -> PurePosixPath:
        """An empty folder for what commands report."""
        return self.paths.results

    def mounted(self, name: str) -> PurePosixPath:
        """The path of a mount.

        Raises:
            KeyError: nothing of that name was mounted.
        """
        return self.paths.mounts[name]

    def run(self, command: Command) -> CommandResult:
        """Run a command; every process of it is dead after.

        Raises:
            SandboxError: the sandbox was killed, or could not be set up.
            RunCancelled: the run or the command was cancelled.
        """
        self._refuse_if_over()
        with self._counted():
            result = self._watched(command, self.watch) if self.watch else self._attended(command)
        self._refuse_if_over()
        if command.cancelled:
            raise RunCancelled
        return result

    def kill(self) -> None:
        """End every process, for good; returns when they are dead."""
        self._killed.set()
        with self._idle:
            own = get_ident()  # a sink may kill: then its own command ends right after
            self._idle.wait_for(lambda: set(self._running) <= {own}, _DIES_WITHIN)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        """The tree under a path as a plain tar stream.

        Raises:
            SandboxError: there is no such folder.
        """
        room, parts = self.paths.host_folder_of(path, self.folders)
        try:
            folder = open_below(room, parts)
        except OSError as fault:
            raise SandboxError(f"{path} cannot be read: {fault.strerror}") from fault
        try:
            yield tar_stream(folder)
        finally:
            os.close(folder)

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        """Unpack a plain tar under a folder, as the sandbox's own user.

        Raises:
            DoesNotFitError: it is more than the sandbox may hold.
            SandboxError: it leads elsewhere, or the sandbox was killed.
        """
        argv = (str(self.paths.python), "-I", "-S", "-c", UNPACK, str(path))
        result = self.run(Command(argv=argv, timeout=_UNPACKS_WITHIN, stdin=tar))
        if not result.ok:
            why = (result.stderr.strip() or result.ending).splitlines()[-1]
            is_much = result.ending is Ending.OUT_OF_DISK
            kind = DoesNotFitError if is_much else SandboxError
            limit = f" (limit {result.exceeded})" if is_much else ""
            raise kind(f"{path} cannot be written: {why}{limit}")

    def snapshot(self, key: str) -> SnapshotId:
        """Remember the workspace and the environment under a key.

        Raises:
            SandboxError: the sandbox was killed, or the disk is full.
        """
        self._refuse_if_over()
        try:
            return self.save(key)
        except OSError as fault:
            raise SandboxError(f"no snapshot {key}: {fault}") from fault

    def _attended(self, command: Command) -> CommandResult:
        return self.runner.run(command, lambda: command.cancelled or self._is_over())

    def _watched(self, command: Command, watch: DiskWatch) -> CommandResult:
        def must_end() -> bool:
            return command.cancelled or self._is_over() or bool(watch.exceeded())

        watch.begin()
        try:
            result = self.runner.run(command, must_end)
        finally:
            exceeded = watch.end()
        return out_of_disk(result, exceeded)

    def _is_over(self) -> bool:
        return self._killed.is_set() or self.cancel.is_set()

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
