"""The provider of bubblewrap sandboxes: namespaces over private host folders.

Every command runs in namespaces of its own, over mounts of the sandbox's folders, as a user without
privileges, behind a seccomp filter. A start takes about 12 ms. There are no images: a virtual
environment of the host's Python takes their place.
"""

import os
import platform
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Self

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.bubblewrap import profile
from agentbench.sandbox.bubblewrap.cgroups import CgroupHierarchy, find_hierarchy, make_group
from agentbench.sandbox.bubblewrap.mount_namespace import mount_namespace
from agentbench.sandbox.bubblewrap.profile import BindMount, OverlayMount
from agentbench.sandbox.bubblewrap.program import BwrapProgram, find_bwrap, remedy_for
from agentbench.sandbox.bubblewrap.runner import BwrapRunner
from agentbench.sandbox.bubblewrap.seccomp import seccomp_filter
from agentbench.sandbox.folder_provider import FolderProvider, SandboxRequest
from agentbench.sandbox.folder_sandbox import (
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    base_environment,
    sandbox_folders,
)
from agentbench.sandbox.host_environment import host_python, sandbox_user
from agentbench.sandbox.host_network import ca_bundle, ca_variables, forwarded_settings
from agentbench.sandbox.interface import HOME, MOUNTS, RESULTS, VENV, WORKSPACE, Command, Promise
from agentbench.sandbox.ownership import group_name
from agentbench.sandbox.snapshot_store import StoredState
from agentbench.sandbox.trees import copy_tree

_COUNTS_PROCESSES_BY_NAMESPACE = (5, 14)  # the first kernel that does, for RLIMIT_NPROC
_PROBED_WITHIN = timedelta(seconds=30)
_TMP = PurePosixPath("/tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapProvider(FolderProvider):
    """Opens sandboxes made of namespaces; create one by `connect`."""

    program: BwrapProgram
    hierarchy: CgroupHierarchy | None
    overlays: bool  # whether environments are overlaid (about 20 ms), not copied (a second)

    @classmethod
    def connect(cls, *, cache_dir: Path, environ: Mapping[str, str] | None = None) -> Self:
        """Find bwrap, and try the profile of attempts.

        Raises:
            UnavailableError: it does not work here; the message says what to do.
        """
        hierarchy, user, cache = find_hierarchy(), sandbox_user(), cache_dir / "bubblewrap"
        best = cls(
            program=find_bwrap(user, mount_namespace()),
            python=host_python(),
            user=user,
            cache=cache,
            live=cache / "live",
            prefix="",
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
            provider = replace(best, hierarchy=groups, overlays=overlays)
            try:
                provider._probe()
            except (OSError, SandboxError) as fault:
                refusal = fault
                continue
            return provider
        raise UnavailableError(f"{refusal}\n{remedy_for(str(refusal))}") from refusal

    @property
    def name(self) -> str:
        """See SandboxProvider.name."""
        return "bubblewrap"

    @property
    def promises(self) -> frozenset[Promise]:
        """All, except for limits if no control group can be created."""
        limited = frozenset[str]() if self.hierarchy is None else frozenset(self.hierarchy.parents)
        gaps = set[Promise]()
        if "memory" not in limited:
            gaps |= {Promise.MEMORY_LIMIT, Promise.TELLS_OOM}
        release = platform.release().split("-")[0].split(".")
        kernel = tuple(int(part) for part in release[:2] if part.isdigit())
        counted = self.user is None and kernel >= _COUNTS_PROCESSES_BY_NAMESPACE
        if "pids" not in limited and not counted:
            gaps.add(Promise.PIDS_LIMIT)
        if "cpu" not in limited:
            gaps.add(Promise.CPU_LIMIT)
        if seccomp_filter() is None:
            gaps.add(Promise.UNPRIVILEGED)
        return frozenset(Promise) - gaps

    def describe(self) -> Mapping[str, str]:
        """See SandboxProvider.describe."""
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

    def _venv(self, _folders: SandboxFolders) -> PurePosixPath:
        return VENV

    def _fill(self, state: StoredState, folders: SandboxFolders) -> Path | None:
        copy_tree(state.workspace, folders.workspace, owner=self.user)
        if self.overlays:
            return state.venv
        copy_tree(state.venv, folders.venv, owner=self.user)
        return None

    def _sandbox(self, request: SandboxRequest) -> FolderSandbox:
        folders, stack = request.folders, request.stack
        group = None
        if self.hierarchy is not None:
            group = make_group(self.hierarchy, group_name(folders.root.name), request.limits)
            stack.callback(group.remove)
        environment = base_environment(HOME, VENV)
        binds = self._binds(request)
        if request.network:
            environment |= forwarded_settings(self.environ)
            if (bundle := ca_bundle(self.environ)) is not None:
                environment |= ca_variables(str(profile.CERTIFICATES))
                binds.append(BindMount(source=bundle.resolve(), target=profile.CERTIFICATES))
        mounts = profile.bind_arguments(binds, self.program.mount_namespace, stack)
        runner = BwrapRunner(
            program=self.program,
            arguments=(*profile.system_arguments(network=request.network), *mounts),
            environment=environment,
            limits=request.limits,
            network=request.network,
            group=group,
        )
        paths = InsidePaths(
            workspace=WORKSPACE,
            results=RESULTS,
            home=HOME,
            tmp=_TMP,
            python=PurePosixPath(self.python.executable),
            mounts={mount.name: MOUNTS / mount.name for mount in request.mounts},
        )
        return self._assembled(request, paths, runner, tuple if group is None else group.processes)

    def _binds(self, request: SandboxRequest) -> list[BindMount | OverlayMount]:
        folders, lower = request.folders, request.lower
        if lower is None:
            venv: BindMount | OverlayMount = BindMount(
                source=folders.venv, target=VENV, writable=True
            )
        else:
            venv = OverlayMount(lower=lower, upper=folders.venv, work=folders.work, target=VENV)
        return [
            BindMount(source=folders.workspace, target=WORKSPACE, writable=True),
            BindMount(source=folders.results, target=RESULTS, writable=True),
            BindMount(source=folders.home, target=HOME, writable=True),
            BindMount(source=folders.tmp, target=_TMP, writable=True),
            venv,
            *profile.python_binds(self.python),
            *(BindMount(source=m.source, target=MOUNTS / m.name) for m in request.mounts),
        ]

    def _probe(self) -> None:
        """Run `true` in the profile of attempts.

        Raises:
            SandboxError: bwrap refused.
            OSError: a folder or a control group cannot be created.
        """
        with ExitStack() as stack:
            folders = stack.enter_context(sandbox_folders(self.live, self.prefix, self.user))
            lower = folders.home if self.overlays else None
            sandbox = self._sandbox(SandboxRequest(folders=folders, stack=stack, lower=lower))
            result = sandbox.run(Command(argv=("true",), timeout=_PROBED_WITHIN))
        if not result.ok:
            facts = f"{result.ending}, exit code {result.exit_code}: {result.stderr}".strip()
            raise SandboxError(f"`true` failed in bubblewrap: {facts}")
