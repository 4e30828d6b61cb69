"""The common part of the bubblewrap and process providers, whose sandboxes are host folders."""

import hashlib
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from threading import Event

from agentbench.core.file_locks import FileLock
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.disk_usage import DiskWatch, FolderGauge
from agentbench.sandbox.folder_sandbox import (
    CommandRunner,
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    sandbox_folders,
)
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
from agentbench.sandbox.trees import FileOwner
from agentbench.tasks.users import AGENT_USER, UserName

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
        """See SandboxProvider.resolve_image; the environment of the host's Python."""
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
        """See SandboxProvider.open; all workspaces are plain, and no sandbox is lasting."""
        if use.services is not None:
            raise use.services.refusal_of(self.name)
        with ExitStack() as stack:
            try:
                folders = stack.enter_context(sandbox_folders(self.live, self.prefix, self.user))
                with ExitStack() as lock:
                    state = lock.enter_context(self._store_of(source).opened(source))
                    lower = self._fill(state, folders)
                    if lower is not None:  # an overlay needs the state until the sandbox's end
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

    def _store_of(self, source: str) -> SnapshotStore:
        for store in (self._store("image"), self._store("snapshot")):
            if store.holds(source):
                return store
        raise SandboxError(f"{source} is not an image or snapshot of {self.name}")

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
            save=partial(store.save, folders=folders, lower=request.lower),
            cancel=request.cancel,
            watch=DiskWatch(gauge, request.limits),
        )

    def _make_environment(self, key: str) -> None:
        """Create a virtual environment with pytest in an empty sandbox, without a network."""
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
            self._store("image").save(key, folders)
