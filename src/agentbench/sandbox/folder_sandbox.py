"""The sandboxes of bubblewrap and process, and their common provider: private host folders.

A back end adds how commands are started (`CommandRunner`), and how they see the folders.
"""

import hashlib
import os
import shlex
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path, PurePath, PurePosixPath
from tarfile import BLOCKSIZE
from threading import Condition, Event, get_ident
from typing import Protocol, Self

from agentbench.core.file_locks import FileLock
from agentbench.core.files import own_folder
from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError, UnavailableError
from agentbench.sandbox.archives import UNPACK, tar_stream, unpack_below
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch, FolderGauge
from agentbench.sandbox.host_environment import HostPython, install_pytest
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SandboxUse,
    SnapshotId,
)
from agentbench.sandbox.snapshot_store import SnapshotStore, StoredState
from agentbench.sandbox.trees import FileOwner, closing_descriptor, open_below, remove_tree
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.tasks.users import AGENT_USER, UserName

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
        return cls(root=root, **{name: root / name for name in _FOLDER_NAMES})

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.workspace, self.results, self.home, self.tmp, self.venv, self.work)


@contextmanager
def sandbox_folders(parent: Path, prefix: str, owner: FileOwner | None) -> Iterator[SandboxFolders]:
    """Create empty folders, removed at the end; until then a lock marks them as in use."""
    parent.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    folders = SandboxFolders.of(root)
    try:
        # The sandbox's user may pass through, but not list it.
        root.chmod(0o711)
        with own_folder(root):
            try:
                for folder in folders.all:
                    folder.mkdir(mode=0o700)
                    if owner is not None:
                        os.chown(folder, owner.uid, owner.gid)
                yield folders
            finally:
                # Before the lock is released: if this process is killed meanwhile, others see that
                # the owner is dead.
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
        paths = (folders.workspace, folders.results, folders.home, folders.tmp, python)
        workspace, results, home, tmp, interpreter = map(PurePosixPath, paths)
        return cls(
            workspace=workspace, results=results, home=home, tmp=tmp, python=interpreter,
            mounts=mounts,
        )  # fmt: skip

    def host_folder_of(
        self, path: PurePosixPath, folders: SandboxFolders
    ) -> tuple[Path, tuple[str, ...]]:
        """The host folder that contains a path, and the names from there to the path."""
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
        """Run a command until its end, its deadline, or until `stop` returns true."""


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

    @property
    def host_workspace(self) -> Path:
        return self.folders.workspace

    def kill(self) -> None:
        self._killed.set()
        with self._idle:
            # A sink may call `kill`: its own command ends only after it has returned.
            own = get_ident()
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
        # Without a process in the sandbox, which takes 40 ms for each tree. False: an entry is
        # unusual.
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
                # Each file has a header of one block.
                most = DiskUsage(bytes=len(tar), files=len(tar) // BLOCKSIZE)
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


_RECIPE = "1"  # increment it when the environments change
_CREATED_WITHIN = timedelta(minutes=5)
# Creates the byte-code of all imports of a test run, so that sandboxes do not compile them again.
_WARM_UP = (
    'cd "$(mktemp -d)" && echo "def test_it(): assert 1" > test_it.py '
    "&& python -m pytest -q test_it.py && python -m pip --version"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """The request for a sandbox over filled folders."""

    folders: SandboxFolders
    stack: ExitStack  # closed with the sandbox
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    mounts: tuple[ReadOnlyMount, ...] = ()
    cancel: Event = field(default_factory=Event)
    lower: Path | None = None  # the environment below `folders.venv`, if this is an overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderProvider(ABC):
    """A provider whose sandboxes are host folders, and whose images are virtual environments."""

    python: HostPython
    user: FileOwner | None  # the user of commands; None: this process's own
    cache: Path  # the folder of this back end's environments and snapshots
    live: Path  # the folder of open sandboxes
    prefix: str  # prefix of the names of open sandboxes
    environ: Mapping[str, str]  # of the harness, for the settings of a network

    @property
    @abstractmethod
    def name(self) -> str:
        """The name on the command line and in records."""

    @abstractmethod
    def _fill(self, state: StoredState, folders: SandboxFolders) -> Path | None:
        """Copy a state into folders; returns its environment if it should be overlaid."""

    @abstractmethod
    def _sandbox(self, request: SandboxRequest) -> FolderSandbox:
        """The sandbox of a request, whose folders are filled."""

    @abstractmethod
    def _venv(self, folders: SandboxFolders) -> PurePosixPath:
        """The path of the environment in the sandbox."""

    def check(self) -> None:  # noqa: B027 - this machine itself cannot be lost
        """See SandboxProvider.check."""

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
        user: UserName = AGENT_USER,
    ) -> ImageId:
        if user != AGENT_USER:
            raise UnavailableError(
                f"{self.name} has no other users ([environment] user): use a container engine, "
                "--sandbox docker"
            )
        if dockerfile is not None or image not in (None, self.python.image_name):
            raise UnavailableError(
                f"{self.name} provides only this machine's Python, {self.python.image_name}, "
                f"not {dockerfile or image}: use a container engine for it, --sandbox docker"
            )
        if workdir is not None:
            raise UnavailableError(
                f"{self.name} has no images with the folders of the task's own scripts "
                f"({workdir}, /tests, /logs): use a container engine, --sandbox docker"
            )
        # An environment is a snapshot with an empty workspace.
        store = self._store("image")
        owner = "" if self.user is None else str(self.user.uid)
        facts = (_RECIPE, self.python.full_version, str(self.python.prefix), owner)
        digest = hashlib.sha256("\n".join((*facts, version("pytest"))).encode()).hexdigest()
        key = f"python{self.python.version.replace('.', '-')}-{digest[:16]}"
        if store.find(key) is None:
            store.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(store.folder / f".{key}.lock"):
                if store.find(key) is None:  # no other process has made it meanwhile
                    try:
                        self._make_environment(key)
                    except (OSError, SandboxError) as fault:
                        raise UnavailableError(f"cannot create an environment: {fault}") from fault
        return ImageId(store.id_of(key))

    @contextmanager
    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        network: bool,
        mounts: Sequence[ReadOnlyMount] = (),
        cancel: Event | None = None,
        use: SandboxUse = ORDINARY_USE,
    ) -> Iterator[Sandbox]:
        if use.services is not None:
            raise use.services.refusal_of(self.name)
        with ExitStack() as stack:
            try:
                folders = stack.enter_context(sandbox_folders(self.live, self.prefix, self.user))
                with ExitStack() as lock:
                    stores = (self._store("image"), self._store("snapshot"))
                    store = next((each for each in stores if each.holds(source)), None)
                    if store is None:
                        raise SandboxError(f"{source} is not an image or snapshot of {self.name}")
                    state = lock.enter_context(store.opened(source))
                    lower = self._fill(state, folders)
                    # A copy needs the state no longer; an overlay needs it until the sandbox's end.
                    if lower is not None:
                        stack.push(lock.pop_all())
                request = SandboxRequest(
                    folders=folders,
                    stack=stack,
                    limits=limits,
                    network=network,
                    mounts=tuple(mounts),
                    cancel=cancel or Event(),
                    lower=lower,
                )
                sandbox = self._sandbox(request)
            except OSError as fault:
                raise SandboxError(f"cannot open a sandbox: {fault}") from fault
            stack.callback(sandbox.kill)
            yield sandbox

    def find(self, key: str) -> SnapshotId | None:
        return self._store("snapshot").find(key)

    def discard(self, snapshot: SnapshotId) -> None:
        self._store("snapshot").discard(snapshot)

    def _store(self, noun: str) -> SnapshotStore:
        prefix = f"{self.name}-{noun}"
        return SnapshotStore(folder=self.cache / f"{noun}s", prefix=prefix, owner=self.user)

    def _assembled(
        self,
        request: SandboxRequest,
        paths: InsidePaths,
        runner: CommandRunner,
        processes: Callable[[], Iterable[int]] = tuple,
    ) -> FolderSandbox:
        store, folders = self._store("snapshot"), request.folders
        gauge = FolderGauge(folders=(folders.root,), processes=processes)
        return FolderSandbox(
            folders=folders,
            paths=paths,
            runner=runner,
            save=partial(store.save, root=folders.root, lower=request.lower),
            cancel=request.cancel,
            watch=DiskWatch(gauge, request.limits),
        )

    def _make_environment(self, key: str) -> None:
        with ExitStack() as stack:
            folders = stack.enter_context(sandbox_folders(self.live, self.prefix, self.user))
            sandbox = self._sandbox(SandboxRequest(folders=folders, stack=stack))

            def run(script: str) -> None:
                argv = ("sh", "-c", script)
                result = sandbox.run(Command(argv=argv, timeout=_CREATED_WITHIN))
                if not result.ok:
                    output = (result.stderr or result.stdout).strip()[-800:]
                    raise SandboxError(f"`{script}` failed ({result.ending}): {output}")

            create = f"{shlex.quote(str(self.python.executable))} -I -m venv"
            venv = shlex.quote(str(self._venv(folders)))
            # Debian may lack the pip of `venv`; then pip is copied like pytest.
            run(f"{create} {venv} || {create} --clear --without-pip {venv}")
            for path in install_pytest(folders.venv, sandbox_path=Path(self._venv(folders))):
                if self.user is not None:
                    os.lchown(path, self.user.uid, self.user.gid)
            run(_WARM_UP)
            self._store("image").save(key, folders.root)
