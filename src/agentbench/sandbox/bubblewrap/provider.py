"""The provider of bubblewrap sandboxes.

Tries the profile on this machine, makes the environment, opens sandboxes over private folders.

A sandbox is a private folder with rooms in it; every command runs in namespaces of its own, over
binds of those rooms, as a user without privileges, behind a seccomp filter. A start costs some 12
ms. There are no images: a virtual environment of this Python stands in for one.
"""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Self

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.bubblewrap import profile
from agentbench.sandbox.bubblewrap.cgroups import (
    CgroupHierarchy,
    ControlGroup,
    find_hierarchy,
    make_group,
)
from agentbench.sandbox.bubblewrap.mount_namespace import mount_namespace
from agentbench.sandbox.bubblewrap.profile import BindMount, OverlayMount
from agentbench.sandbox.bubblewrap.program import BwrapProgram, find_bwrap, remedy_for
from agentbench.sandbox.bubblewrap.runner import BwrapRunner
from agentbench.sandbox.bubblewrap.seccomp import seccomp_filter
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
    host_python,
    make_environment,
    sandbox_user,
)
from agentbench.sandbox.host_network import ca_bundle, ca_variables, forwarded_settings
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SnapshotId,
)
from agentbench.sandbox.ownership import group_name
from agentbench.sandbox.snapshot_store import SnapshotStore
from agentbench.sandbox.trees import copy_tree

_COUNTS_PROCESSES_BY_NAMESPACE = (5, 14)  # the kernel, for RLIMIT_NPROC
_PROBED_WITHIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapProvider:
    """Opens sandboxes made of namespaces; get one by `connect`."""

    program: BwrapProgram
    python: HostPython
    cache: Path  # of this back end alone
    hierarchy: CgroupHierarchy | None
    overlays: bool  # whether environments are overlaid, not copied: some 20 ms, not a second
    environ: Mapping[str, str]  # the harness's own, for what a network needs

    @classmethod
    def connect(cls, *, cache_dir: Path, environ: Mapping[str, str] | None = None) -> Self:
        """Find bwrap and try the very profile that attempts will run in.

        Raises:
            UnavailableError: it does not work here; says what to do.
        """
        hierarchy = find_hierarchy()
        made = cls(
            program=find_bwrap(sandbox_user(), mount_namespace()),
            python=host_python(),
            cache=cache_dir / "bubblewrap",
            hierarchy=hierarchy,
            overlays=True,
            environ=os.environ if environ is None else environ,
        )
        refusal: Exception | None = None
        for groups, overlays in (
            (hierarchy, True),
            (hierarchy, False),
            (None, True),
            (None, False),
        ):
            provider = replace(made, hierarchy=groups, overlays=overlays)
            try:
                provider._probe()
            except (OSError, SandboxError) as fault:
                refusal = fault
                continue
            return provider
        raise UnavailableError(f"{refusal}\n{remedy_for(str(refusal))}") from refusal

    @property
    def name(self) -> str:
        """Its name on the command line and on records."""
        return "bubblewrap"

    @property
    def promises(self) -> frozenset[Promise]:
        """All of them, but for limits where no control group can be made."""
        limited = frozenset[str]() if self.hierarchy is None else frozenset(self.hierarchy.parents)
        gaps = set[Promise]()
        if "memory" not in limited:
            gaps |= {Promise.MEMORY_LIMIT, Promise.TELLS_OOM}
        counted = self.program.user is None and _kernel() >= _COUNTS_PROCESSES_BY_NAMESPACE
        if "pids" not in limited and not counted:
            gaps.add(Promise.PIDS_LIMIT)
        if "cpu" not in limited:
            gaps.add(Promise.CPU_LIMIT)
        if seccomp_filter() is None:
            gaps.add(Promise.UNPRIVILEGED)
        return frozenset(Promise) - gaps

    def describe(self) -> Mapping[str, str]:
        """Versions and what the walls are made of."""
        groups = "none"
        if self.hierarchy is not None:
            groups = f"v{self.hierarchy.version}: {' '.join(self.hierarchy.parents)}"
        return {
            "backend": self.name,
            "bubblewrap": self.program.version,
            "kernel": platform.release(),
            "python": self.python.full_version,
            "control_groups": groups,
            "environment": "overlay" if self.overlays else "copy",
            "seccomp": "none" if seccomp_filter() is None else "own filter",
        }

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        """The folder of environments, snapshots and open sandboxes."""
        return (self.cache,)

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
        return self._environments.resolve(image, dockerfile, self._make_environment, workdir)

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
        """A fresh sandbox; all of it is gone when the block ends.

        Raises:
            SandboxError: it could not be made.
        """
        with ExitStack() as keep:
            try:
                rooms = keep.enter_context(self._furnished())
                below = self._fill(source, rooms, keep)
                wanted = _OpenRequest(
                    limits=limits, network=network, mounts=tuple(mounts), below=below
                )
                sandbox = self._sandbox(rooms, wanted, cancel or Event(), keep)
            except OSError as fault:
                raise SandboxError(f"no sandbox could be made: {fault}") from fault
            keep.callback(sandbox.kill)
            yield sandbox

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot that was made under a key."""
        return self._snapshots.find(key)

    def discard(self, snapshot: SnapshotId) -> None:
        """Forget a snapshot."""
        self._snapshots.discard(snapshot)

    @property
    def _snapshots(self) -> SnapshotStore:
        return self._store("snapshot")

    @property
    def _environments(self) -> EnvironmentStore:
        return EnvironmentStore(store=self._store("image"), python=self.python, back_end=self.name)

    def _store(self, noun: str) -> SnapshotStore:
        return SnapshotStore(
            folder=self.cache / f"{noun}s", prefix=f"{self.name}-{noun}", owner=self.program.user
        )

    def _furnished(self) -> AbstractContextManager[SandboxFolders]:
        return sandbox_folders(self.cache / "live", "", self.program.user)

    def _fill(self, source: str, rooms: SandboxFolders, keep: ExitStack) -> Path | None:
        """Bring a state in; returns the environment to overlay, where it was not copied."""
        stores = (self._store("image"), self._snapshots)
        store = next((store for store in stores if store.holds(source)), None)
        if store is None:
            raise SandboxError(f"{source} is nothing that {self.name} made")
        state = keep.enter_context(store.opened(source))
        copy_tree(state.workspace, rooms.workspace, owner=self.program.user)
        if self.overlays:
            return state.venv
        copy_tree(state.venv, rooms.venv, owner=self.program.user)
        return None

    def _sandbox(
        self, rooms: SandboxFolders, wanted: "_OpenRequest", cancel: Event, keep: ExitStack
    ) -> FolderSandbox:
        group = self._group(wanted.limits, rooms, keep)
        mounts = {mount.name: profile.MOUNTS / mount.name for mount in wanted.mounts}
        binds = self._binds(rooms, wanted)
        arguments = profile.bind_arguments(binds, self.program.mount_namespace, keep)
        environment = dict(profile.BASE_ENVIRONMENT)
        if wanted.network:
            environment |= forwarded_settings(self.environ)
            if ca_bundle(self.environ) is not None:
                environment |= ca_variables(str(profile.CERTIFICATES))
        runner = BwrapRunner(
            program=self.program,
            arguments=(*profile.system_arguments(network=wanted.network), *arguments),
            environment=environment,
            limits=wanted.limits,
            network=wanted.network,
            group=group,
        )
        view = InsidePaths(
            workspace=profile.WORKSPACE,
            results=profile.RESULTS,
            home=profile.HOME,
            tmp=PurePosixPath("/tmp"),
            python=PurePosixPath(self.python.executable),
            mounts=mounts,
        )
        processes = tuple if group is None else group.processes
        gauge = FolderGauge(folders=(rooms.root,), processes=processes)
        return FolderSandbox(
            folders=rooms,
            paths=view,
            runner=runner,
            save=_saver(self._snapshots, rooms, wanted.below),
            cancel=cancel,
            watch=DiskWatch(gauge, wanted.limits),
        )

    def _binds(
        self, rooms: SandboxFolders, wanted: "_OpenRequest"
    ) -> list[BindMount | OverlayMount]:
        shown: list[BindMount | OverlayMount] = [
            BindMount(source=rooms.workspace, target=profile.WORKSPACE, writable=True),
            BindMount(source=rooms.results, target=profile.RESULTS, writable=True),
            BindMount(source=rooms.home, target=profile.HOME, writable=True),
            BindMount(source=rooms.tmp, target=PurePosixPath("/tmp"), writable=True),
            _environment_mount(rooms, wanted.below),
            *profile.python_binds(self.python),
            *(BindMount(source=m.source, target=profile.MOUNTS / m.name) for m in wanted.mounts),
        ]
        if wanted.network and (bundle := ca_bundle(self.environ)) is not None:
            shown.append(BindMount(source=bundle.resolve(), target=profile.CERTIFICATES))
        return shown

    def _group(self, limits: Limits, rooms: SandboxFolders, keep: ExitStack) -> ControlGroup | None:
        if self.hierarchy is None:
            return None
        group = make_group(self.hierarchy, group_name(rooms.root.name), limits)
        keep.callback(group.remove)
        return group

    def _probe(self) -> None:
        """Run nothing, in the very profile that attempts run in.

        Raises:
            SandboxError: bwrap refused.
            OSError: a folder or a control group cannot be made.
        """
        with ExitStack() as keep:
            rooms = keep.enter_context(self._furnished())
            below = rooms.home if self.overlays else None
            wanted = _OpenRequest(limits=Limits(), network=False, mounts=(), below=below)
            sandbox = self._sandbox(rooms, wanted, Event(), keep)
            result = sandbox.run(Command(argv=("true",), timeout=_PROBED_WITHIN))
        if not result.ok:
            said = f"{result.ending}, exit code {result.exit_code}: {result.stderr}".strip()
            raise SandboxError(f"bubblewrap ran `true` and got {said}")

    def _make_environment(self, key: str) -> None:
        with ExitStack() as keep:
            rooms = keep.enter_context(self._furnished())
            wanted = _OpenRequest(limits=Limits(), network=False, mounts=(), below=None)
            sandbox = self._sandbox(rooms, wanted, Event(), keep)
            make_environment(sandbox, self.python, rooms, profile.VENV, self.program.user)
            self._store("image").save(key, rooms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenRequest:
    """What `open` was asked for."""

    limits: Limits
    network: bool
    mounts: tuple[ReadOnlyMount, ...]
    below: Path | None  # the environment that the rooms' own lies over, if it is an overlay


def _environment_mount(rooms: SandboxFolders, below: Path | None) -> BindMount | OverlayMount:
    if below is None:
        return BindMount(source=rooms.venv, target=profile.VENV, writable=True)
    return OverlayMount(lower=below, upper=rooms.venv, work=rooms.work, target=profile.VENV)


def _saver(
    store: SnapshotStore, rooms: SandboxFolders, below: Path | None
) -> Callable[[str], SnapshotId]:
    return lambda key: store.save(key, rooms, below=below)


def _kernel() -> tuple[int, ...]:
    release = platform.release().split("-")[0].split(".")
    return tuple(int(part) for part in release[:2] if part.isdigit())
