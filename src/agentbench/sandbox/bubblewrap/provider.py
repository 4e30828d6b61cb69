"""The provider of bubblewrap sandboxes, and how their commands run.

Every command runs in namespaces of its own, over mounts of the sandbox's folders, as a user without
privileges, behind a seccomp filter. A start takes about 12 ms. There are no images: a virtual
environment of the host's Python takes their place.
"""

import dataclasses
import json
import os
import platform
import resource
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Self

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox import folder_sandbox, host_environment, interface
from agentbench.sandbox.bubblewrap import cgroups, profile
from agentbench.sandbox.bubblewrap.private_view import PrivateView, device_arguments
from agentbench.sandbox.bubblewrap.profile import (
    BindMount,
    OverlayMount,
    ReadOnlyOverlay,
    seccomp_filter,
)
from agentbench.sandbox.bubblewrap.program import (
    BwrapProgram,
    find_bwrap,
    mount_namespace,
    remedy_for,
)
from agentbench.sandbox.folder_sandbox import FolderProvider, SandboxRequest
from agentbench.sandbox.interface import Promise
from agentbench.sandbox.ownership import group_name
from agentbench.sandbox.snapshot_store import StoredState
from agentbench.sandbox.supervise import memory_file, run_child, within_hard_limit
from agentbench.sandbox.trees import copy_tree
from agentbench.scoring.evidence import CommandResult

_SETS_UP_WITHIN = 30_000  # milliseconds
_DIES_WITHIN = 10_000  # milliseconds
_NO_SUCH_FOLDER = "Can't chdir to"
_CANNOT_START = 126  # a shell's exit code for a program that it cannot start
_COUNTS_PROCESSES_BY_NAMESPACE = (5, 14)  # the first such kernel, for RLIMIT_NPROC
_PROBED_WITHIN = timedelta(seconds=30)
_TMP = PurePosixPath("/tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class BwrapRunner:
    """Starts bwrap for each command, with the arguments that all commands of a sandbox share."""

    program: BwrapProgram
    arguments: Sequence[str]
    environment: Mapping[str, str]
    limits: interface.Limits
    network: bool
    group: cgroups.ControlGroup | None

    def run(self, command: interface.Command, stop: Callable[[], bool]) -> CommandResult:
        kills_before = self._oom_kills()
        with ExitStack() as stack:
            child, init = self._start(command, stack)
            ended = run_child(child, command, end=init.kill, stop=stop)
            init.await_end()
            if not (init.reported_exit() or ended.timed_out or ended.stopped):
                message = ended.stderr.text()
                if _NO_SUCH_FOLDER not in message:
                    raise SandboxError(f"bubblewrap setup failed: {message.strip()[-500:]}")
                ended = replace(ended, exit_code=_CANNOT_START)
        return ended.result(
            command,
            out_of_memory=self._oom_kills() > kills_before,
            peak_memory=None if self.group is None else self.group.peak_memory(),
        )

    def _start(
        self, command: interface.Command, stack: ExitStack
    ) -> tuple[subprocess.Popen[bytes], "_Init"]:
        data, files = profile.data_arguments(stack, network=self.network)
        environment = {**self.environment, **command.env}
        cwd = command.cwd or interface.WORKSPACE
        words = memory_file(profile.command_arguments(environment, cwd), stack)
        argv = profile.start_argv(command.argv)
        argv = profile.limited_argv(argv, file_bytes=self._file_bytes, open_files=self._open_files)
        status, status_end = os.pipe()
        stack.callback(os.close, status)
        go_end, go = os.pipe()
        try:
            child = self.program.start(
                (
                    *self.arguments,
                    *data,
                    *("--args", str(words)),
                    *("--json-status-fd", str(status_end)),
                    *("--block-fd", str(go_end)),
                    *("--", *argv),
                ),
                (*files, words, status_end, go_end),
            )
            os.close(status_end)
            status_end = -1
            init = _Init(child, status, stack)
            self._limit(init.pid)
        finally:
            for end in (status_end, go_end, go):  # closing `go` lets bwrap continue
                if end != -1:
                    os.close(end)
        return child, init

    def _limit(self, pid: int | None) -> None:
        if pid is None:
            return  # bwrap failed; `run_child` returns the reason
        covered = frozenset[str]() if self.group is None else self.group.folders.keys()
        limits = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, self._file_bytes),
            (resource.RLIMIT_NOFILE, self._open_files),
        ]
        if "memory" not in covered:
            limits.append((resource.RLIMIT_DATA, self.limits.memory_mib << 20))
        if "pids" not in covered:  # counted within the sandbox's own user namespace
            limits.append((resource.RLIMIT_NPROC, self.limits.pids))
        for name, value in limits:
            # A root without CAP_SYS_RESOURCE may not do this; the control group limits it, too.
            with suppress(ProcessLookupError, PermissionError):
                resource.prlimit(pid, name, (value, value))
        if self.group is not None:
            with suppress(ProcessLookupError):  # the process has failed meanwhile
                self.group.admit(pid)

    @property
    def _file_bytes(self) -> int:
        return within_hard_limit(resource.RLIMIT_FSIZE, self.limits.disk_mib << 20)

    @property
    def _open_files(self) -> int:
        return within_hard_limit(resource.RLIMIT_NOFILE, self.limits.open_files)

    def _oom_kills(self) -> int:
        return 0 if self.group is None else self.group.oom_kills()


class _Init:
    """The first process inside; all other processes die with it."""

    def __init__(self, child: subprocess.Popen[bytes], status: int, stack: ExitStack) -> None:
        self._child = child
        self._status = status
        self._report = b""
        # It stays empty if bwrap ends or hangs before its first line.
        poll = select.poll()
        poll.register(status, select.POLLIN)
        while b"\n" not in self._report and poll.poll(_SETS_UP_WITHIN):
            if not (chunk := os.read(status, 4096)):
                break
            self._report += chunk
        self.pid = _status_value(self._report, "child-pid")
        self._handle: int | None = None
        if self.pid is not None:
            with suppress(ProcessLookupError):
                self._handle = os.pidfd_open(self.pid)
                stack.callback(os.close, self._handle)

    def kill(self) -> None:
        if self._handle is None:
            self._child.kill()
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def await_end(self) -> None:
        # bwrap itself ends a moment before the processes inside.
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            poll.poll(_DIES_WITHIN)

    def reported_exit(self) -> bool:
        """Whether a command was started and has ended; call it once, after bwrap's end."""
        while chunk := os.read(self._status, 4096):
            self._report += chunk
        return _status_value(self._report, "exit-code") is not None


def _status_value(report: bytes, key: str) -> int | None:
    for line in report.splitlines():
        facts = json.loads(line)
        if key in facts:
            return int(facts[key])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapProvider(FolderProvider):
    """Opens sandboxes made of namespaces; create one by `connect`."""

    program: BwrapProgram
    hierarchy: cgroups.CgroupHierarchy | None
    overlays: bool  # whether environments are overlaid (about 20 ms), not copied (a second)

    @classmethod
    def connect(cls, *, cache_dir: Path, environ: Mapping[str, str] | None = None) -> Self:
        """Find bwrap, and try the profile of attempts.

        Raises:
            UnavailableError: it does not work here; the message says what to do.
        """
        if platform.system() != "Linux":
            raise UnavailableError("bubblewrap needs Linux: use --sandbox docker")
        hierarchy, user = cgroups.find_hierarchy(), host_environment.sandbox_user()
        cache = cache_dir / "bubblewrap"
        best = cls(
            program=find_bwrap(user, mount_namespace()),
            python=host_environment.host_python(),
            user=user,
            cache=cache,
            live=cache / "live",
            prefix="",
            hierarchy=hierarchy,
            overlays=True,
            environ=os.environ if environ is None else environ,
        )
        refusal: Exception | None = None
        for groups, overlays in product((hierarchy, None), (True, False)):
            provider = dataclasses.replace(best, hierarchy=groups, overlays=overlays)
            try:
                provider._probe()
            except (OSError, SandboxError) as fault:
                refusal = fault
            else:
                return provider
        raise UnavailableError(f"{refusal}\n{remedy_for(str(refusal))}") from refusal

    @property
    def name(self) -> str:
        return "bubblewrap"

    @property
    def promises(self) -> frozenset[Promise]:
        limited = frozenset[str]() if self.hierarchy is None else frozenset(self.hierarchy.parents)
        release = platform.release().split("-")[0].split(".")
        kernel = tuple(int(part) for part in release[:2] if part.isdigit())
        counted = self.user is None and kernel >= _COUNTS_PROCESSES_BY_NAMESPACE
        lacking = {
            Promise.MEMORY_LIMIT: "memory" not in limited,
            Promise.TELLS_OOM: "memory" not in limited,
            Promise.PIDS_LIMIT: "pids" not in limited and not counted,
            Promise.CPU_LIMIT: "cpu" not in limited,
            Promise.UNPRIVILEGED: seccomp_filter() is None,
        }
        return frozenset(promise for promise in Promise if not lacking.get(promise))

    def describe(self) -> Mapping[str, str]:
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
        return (self.cache,)

    def _venv(self, _folders: folder_sandbox.SandboxFolders) -> PurePosixPath:
        return interface.VENV

    def _fill(self, state: StoredState, folders: folder_sandbox.SandboxFolders) -> Path | None:
        copy_tree(state.workspace, folders.workspace, owner=self.user)
        if self.overlays:
            return state.venv
        copy_tree(state.venv, folders.venv, owner=self.user)
        return None

    def _sandbox(self, request: SandboxRequest) -> folder_sandbox.FolderSandbox:
        folders, stack = request.folders, request.stack
        group = None
        if self.hierarchy is not None:
            name = group_name(folders.root.name)
            group = cgroups.make_group(self.hierarchy, name, request.limits)
            stack.callback(group.remove)
        environment = folder_sandbox.base_environment(interface.HOME, interface.VENV)
        namespace = self.program.mount_namespace
        reachable = profile.ReachablePaths(namespace, stack)
        reachable.of(folders.root)
        view = PrivateView.create(folders.root / "private", overlays=self.overlays)
        system = [*profile.system_binds(network=request.network)]
        if request.network:
            environment |= host_environment.forwarded_settings(self.environ)
            if (bundle := host_environment.ca_bundle(self.environ)) is not None:
                environment |= host_environment.ca_variables(str(profile.CERTIFICATES))
                system.append(BindMount(source=bundle.resolve(), target=profile.CERTIFICATES))
        mounts = view.mounts(request.mounts)
        writable = {
            interface.WORKSPACE: folders.workspace,
            interface.RESULTS: folders.results,
            interface.HOME: folders.home,
            _TMP: folders.tmp,
        }
        binds: list[BindMount | OverlayMount | ReadOnlyOverlay] = [*view.of_system(system)]
        if request.lower is None:
            writable[interface.VENV] = folders.venv
        binds += [BindMount(source=writable[path], target=path, writable=True) for path in writable]
        if request.lower is not None:
            overlay = OverlayMount(
                lower=request.lower,
                upper=folders.venv,
                work=folders.work,
                target=interface.VENV,
            )
            binds.append(overlay)
        binds += view.of_system(profile.python_binds(self.python))
        binds += [BindMount(source=m.source, target=interface.MOUNTS / m.name) for m in mounts]
        runner = BwrapRunner(
            program=self.program,
            arguments=(
                *profile.system_arguments(network=request.network),
                *view.kernel_arguments(request.limits.memory_mib, reachable),
                *device_arguments(namespace, stack),
                *profile.bind_arguments(binds, reachable),
            ),
            environment=environment,
            limits=request.limits,
            network=request.network,
            group=group,
        )
        paths = folder_sandbox.InsidePaths(
            workspace=interface.WORKSPACE,
            results=interface.RESULTS,
            home=interface.HOME,
            tmp=_TMP,
            python=PurePosixPath(self.python.executable),
            mounts={mount.name: interface.MOUNTS / mount.name for mount in mounts},
        )
        return self._assembled(request, paths, runner, tuple if group is None else group.processes)

    def _probe(self) -> None:
        with ExitStack() as stack:
            opened = folder_sandbox.sandbox_folders(self.live, self.prefix, self.user)
            folders = stack.enter_context(opened)
            lower = folders.home if self.overlays else None
            sandbox = self._sandbox(SandboxRequest(folders=folders, stack=stack, lower=lower))
            result = sandbox.run(interface.Command(argv=("true",), timeout=_PROBED_WITHIN))
        if not result.ok:
            facts = f"{result.ending}, exit code {result.exit_code}: {result.stderr}".strip()
            raise SandboxError(f"`true` failed in bubblewrap: {facts}")
