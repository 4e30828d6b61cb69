"""The provider of plain processes, and of commands in a folder as it is.

It promises nothing; commands only work on copies. A subreaper ends the processes of a command as
far as it sees them. Limits hold for each process, not for the tree. Commands can use the network
and read the machine's files.

Commands in a folder as it is are not isolated, either. Their processes die with them, their
environment is scrubbed, and results are in a private folder.
"""

import json
import os
import platform
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Self

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox import folder_sandbox, host_environment, interface
from agentbench.sandbox.folder_sandbox import FolderProvider, SandboxRequest
from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.process import subreaper
from agentbench.sandbox.snapshot_store import StoredState
from agentbench.sandbox.supervise import memory_file, run_child, within_hard_limit
from agentbench.sandbox.trees import FileOwner, copy_tree, relocation
from agentbench.scoring.evidence import CommandResult

_MOST_SANDBOXES = 8  # of one user at a time, whose processes the kernel counts together


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRunner:
    """Starts a subreaper for each command."""

    python: Path
    user: FileOwner | None
    folder: Path  # the workspace
    limits: Limits | None  # None: only those of the machine
    environment: Mapping[str, str]

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        request = {
            "argv": command.argv,
            "cwd": str(command.cwd or self.folder),
            "env": {**self.environment, **command.env},
            "user": None if self.user is None else self.user.uid,
            "limits": self._limits(),
        }
        with ExitStack() as stack:
            descriptor = memory_file(json.dumps(request).encode(), stack)
            child = subprocess.Popen(
                (self.python, "-I", "-S", subreaper.__file__, str(descriptor)),
                env={},
                cwd="/",
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(descriptor,),
                start_new_session=True,  # we handle Ctrl-C in the terminal
            )

        def terminate() -> None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)

        return run_child(child, command, end=terminate, stop=stop).result(command)

    def _limits(self) -> list[tuple[int, int]]:
        limits = [(resource.RLIMIT_CORE, 0)]
        if self.limits is not None:
            for number, value in (
                (resource.RLIMIT_NOFILE, self.limits.open_files),
                (resource.RLIMIT_FSIZE, self.limits.disk_mib << 20),
            ):
                limits.append((number, within_hard_limit(number, value)))
            limits.append((resource.RLIMIT_DATA, self.limits.memory_mib << 20))
            if self.user is not None:
                limits.append((resource.RLIMIT_NPROC, self.limits.pids * _MOST_SANDBOXES))
        return limits


FOLDER_PREFIX = "agentbench-process-"
_PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ")


def mount_paths(
    mounts: Iterable[interface.ReadOnlyMount], copies: Path, user: FileOwner | None
) -> Mapping[str, PurePosixPath]:
    """The paths of the mounts in the sandbox, by name; unreadable ones are copied."""
    paths: dict[str, PurePosixPath] = {}
    for mount in mounts:
        source = mount.source.resolve()
        folder = source if source.is_dir() else source.parent
        paths[mount.name] = PurePosixPath(source)
        if user is None or mount.live:
            continue
        # Of a folder, only the folder itself is checked.
        if source.stat().st_mode & stat.S_IROTH and host_environment.can_reach(user, folder):
            continue
        # The user cannot reach it, for example in root's home.
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
        paths[mount.name] = PurePosixPath(target)
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessProvider(FolderProvider):
    """Opens sandboxes that are only folders; create one by `connect`."""

    @classmethod
    def connect(cls, *, cache_dir: Path, environ: Mapping[str, str] | None = None) -> Self:
        """Find the host's Python, and an unprivileged user who can run it.

        Raises:
            UnavailableError: this is not Linux, or the interpreter does not exist.
        """
        if platform.system() != "Linux":
            raise UnavailableError("plain processes need Linux: use --sandbox docker")
        python = host_environment.host_python()
        if not python.executable.exists():
            raise UnavailableError(f"{python.executable} does not exist: use --sandbox docker")
        user = host_environment.sandbox_user()
        return cls(
            python=python,
            user=user if host_environment.can_reach(user, python.executable) else None,
            cache=cache_dir / "process",
            live=Path(tempfile.gettempdir()),
            prefix=FOLDER_PREFIX,
            environ=os.environ if environ is None else environ,
        )

    @property
    def name(self) -> str:
        return "process"

    @property
    def promises(self) -> frozenset[interface.Promise]:
        """Promises nothing: commands can leave the tree, use the network and read all files."""
        return frozenset()

    @property
    def runs_as_root(self) -> bool:
        return self.user is None and os.geteuid() == 0

    def describe(self) -> Mapping[str, str]:
        return {
            "backend": self.name,
            "kernel": platform.release(),
            "python": self.python.full_version,
            "user": "root" if self.runs_as_root else "unprivileged",
        }

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        return (self.cache, self.live)

    def _venv(self, folders: folder_sandbox.SandboxFolders) -> PurePosixPath:
        return PurePosixPath(folders.venv)

    def _fill(self, state: StoredState, folders: folder_sandbox.SandboxFolders) -> None:
        # Commands see the folders at their own path, which scripts and links contain.
        change = relocation(old=state.saved_at, new=str(folders.root))
        for tree, folder in ((state.workspace, folders.workspace), (state.venv, folders.venv)):
            copy_tree(tree, folder, owner=self.user, change=change)

    def _sandbox(self, request: SandboxRequest) -> folder_sandbox.FolderSandbox:
        folders = request.folders
        (folders.home / ".gitconfig").write_text(interface.GIT_CONFIGURATION)
        environment = folder_sandbox.base_environment(folders.home, folders.venv)
        environment["TMPDIR"] = str(folders.tmp)
        if request.network:
            environment |= host_environment.forwarded_settings(self.environ)
            if (bundle := host_environment.ca_bundle(self.environ)) is not None:
                environment |= host_environment.ca_variables(str(bundle))
        runner = ProcessRunner(
            python=self.python.executable,
            user=self.user,
            folder=folders.workspace,
            limits=request.limits,
            environment=environment,
        )
        mounts = mount_paths(request.mounts, folders.root / "mounts", self.user)
        paths = folder_sandbox.InsidePaths.of_host(folders, self.python.executable, mounts)
        return self._assembled(request, paths, runner)


@contextmanager
def open_in_place(
    project: Path, *, environ: Mapping[str, str], mounts: Sequence[interface.ReadOnlyMount] = ()
) -> Iterator[interface.Sandbox]:
    """A sandbox over a project's own folder; its processes and results are removed at the end.

    Args:
        project: An absolute path with resolved links.
        environ: Our own environment; commands get its harmless variables.
        mounts: The mounts of the sandbox.

    Raises:
        SandboxError: no temporary folder can be created.
    """
    python = host_environment.host_python().executable
    with ExitStack() as stack:
        try:
            private = stack.enter_context(
                folder_sandbox.sandbox_folders(Path(tempfile.gettempdir()), FOLDER_PREFIX, None)
            )
        except OSError as fault:
            raise SandboxError(f"cannot create a folder for results: {fault.strerror}") from fault
        folders = replace(private, workspace=project)
        runner = ProcessRunner(
            python=python,
            user=None,
            folder=project,
            limits=None,
            environment={**scrubbed_environment(environ), "TMPDIR": str(folders.tmp)},
        )
        mounted = {mount.name: PurePosixPath(mount.source.resolve()) for mount in mounts}
        paths = folder_sandbox.InsidePaths.of_host(folders, python, mounted)
        sandbox = folder_sandbox.FolderSandbox(
            folders=folders, paths=paths, runner=runner, save=_refuse, cancel=Event(), watch=None
        )
        stack.callback(sandbox.kill)
        yield sandbox


def scrubbed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The harmless part of an environment: no token, no PYTHON*, no PYTEST*."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED_VARIABLES or name.startswith("LC_")
    }


def _refuse(key: str) -> interface.SnapshotId:
    raise SandboxError(f"cannot save the snapshot {key}: the project is used in place")
