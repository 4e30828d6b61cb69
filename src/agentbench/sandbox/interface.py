"""The protocols of sandboxes and of their providers.

Three back ends implement them: docker, bubblewrap and process. All pass one conformance suite,
`tests/sandbox/conformance.py`, as far as their `promises` go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from socket import socket
from threading import Event
from types import MappingProxyType
from typing import NewType, Protocol, runtime_checkable

from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.network import Network
from agentbench.errors import UnavailableError
from agentbench.scoring.evidence import CommandResult
from agentbench.tasks.users import AGENT_USER, UserName

SnapshotId = NewType("SnapshotId", str)
"""The name of a stored state; only the provider that stored it can open it."""

ImageId = NewType("ImageId", str)
"""The name of an image, in the provider's own terms."""

# Tests that print without an end would otherwise fill the memory of the harness.
DEFAULT_OUTPUT_CAP = 10 * 1024 * 1024
"""Bytes captured of each output stream of a command: half from its head, half from its tail."""

# Paths inside the sandboxes of docker and bubblewrap
WORKSPACE = PurePosixPath("/workspace")
RESULTS = PurePosixPath("/results")
HOME = PurePosixPath("/home/agentbench")
VENV = PurePosixPath("/opt/venv")
MOUNTS = PurePosixPath("/agentbench")

USER_ID = 1000
"""The number of the sandbox's user and group in docker and bubblewrap."""

# git refuses repositories of another user, as mounted ones are.
GIT_CONFIGURATION = "[safe]\n\tdirectory = *\n"


class Stream(StrEnum):
    """The stream of a chunk of output."""

    STDOUT = "stdout"
    STDERR = "stderr"


OutputSink = Callable[[Stream, bytes], None]
"""Receives every chunk of output as soon as it arrives, also beyond the cap."""


class Promise(StrEnum):
    """A property that a back end guarantees; `doctor` lists the missing ones."""

    OWN_FILE_SYSTEM = "own file system view"
    NO_NETWORK = "no network for agent and tests"
    KILLS_TREE = "the whole process tree dies at the deadline"
    MEMORY_LIMIT = "memory limit over all processes"
    PIDS_LIMIT = "limit on processes"
    CPU_LIMIT = "limit on cpu"
    UNPRIVILEGED = "no privileges, no capabilities, seccomp"
    TELLS_OOM = "tells lack of memory from a kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a sandbox, for all its processes together, and the user that they run as."""

    cpus: float = 1.0
    memory_mib: int = 2048
    pids: int = 256
    disk_mib: int = 4096  # of all writable folders together, and of each file
    files: int = 300_000  # files, folders and links in the writable folders
    open_files: int = 16_384  # descriptors of each process
    user: UserName = AGENT_USER
    runtime: str | None = None  # a runtime of the engine; None: its default one


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyMount:
    """A host file or folder, read-only in the sandbox, which gets its own copy."""

    name: str
    source: Path
    live: bool = False  # holds a socket: never copied, and omitted if the engine cannot see it
    shared: bool = False  # large: copied only if the engine cannot see it


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Containers that a compose file adds to a sandbox; `main` is the sandbox."""

    file: Path
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Values for the variables in the file, and variables for the command of `main`."""
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further values for the variables in the file, which take precedence over `env`."""
    main_image: str | None = None
    """The image of the sandbox, for services with the same image."""
    on_localhost: bool = False
    """Whether they share the network of the sandbox. Services with networks of their own count as
    hosts outside: the sandbox reaches them only with a public network or a list that contains
    them."""

    def refusal_of(self, back_end: str) -> UnavailableError:
        """The error of a back end that cannot run them."""
        return UnavailableError(
            f"{self.file}: {back_end} runs no services: use a container engine, --sandbox docker"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxUse:
    """The abilities that a sandbox needs in addition to those of ordinary sandboxes."""

    plain_workspace: bool = False
    """Whether folders of the source's workspace can be renamed; in Docker's layers they cannot."""
    lasting: bool = False
    """Whether it is a `LastingSandbox`, if the back end has them."""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The variables of the entrypoint of a lasting sandbox's image."""
    changes_network: bool = False
    """Whether `LastingSandbox.set_network` may be called. Its services have no network then."""
    brief: bool = False
    """Whether it is used for one run of tests, so that its back end may use a container again. Then
    only its results can be read, and files in /tmp exist for one command."""
    nests: bool = False
    """Whether it only holds other sandboxes, if the back end can do so; only back ends ask."""
    services: Services | None = None
    """The services that it reaches by their names; they start before it, and end with it."""


ORDINARY_USE = SandboxUse()
"""The use of most sandboxes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReport:
    """The state of a service."""

    name: str
    log: bytes  # the end of its output
    failure: str | None = None  # how it ended, in words; None: it runs, or ended with exit code 0
    killed: bool = False  # from outside: no process can kill its container's first one


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A program in the sandbox that talks to the host by its stdin and stdout.

    It runs only if a live mount was omitted, and replaces it. Its output is untrusted.
    """

    argv: tuple[str, ...]
    attend: Callable[[socket], AbstractContextManager[None]]
    """Entered with the program's streams before the command starts, exited after the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command to run in a sandbox; a shell runs only if argv names one."""

    argv: tuple[str, ...]
    timeout: timedelta
    cwd: PurePosixPath | None = None  # None: the workspace
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    stdin: bytes = b""
    sink: OutputSink | None = None
    output_cap: int = DEFAULT_OUTPUT_CAP  # bytes per stream
    cancel: Event | None = None  # once set, it ends this command, not the sandbox
    sidecars: tuple[Sidecar, ...] = ()  # they run as long as the command
    user: UserName | None = None  # None: the sandbox's user; others only work if it is not AGENT

    @property
    def cancelled(self) -> bool:
        """Whether its `cancel` event is set."""
        return self.cancel is not None and self.cancel.is_set()


class Sandbox(Protocol):
    """An environment for commands, isolated as far as its back end promises.

    It has an unprivileged user, a writable `workspace`, a writable `results` folder outside the
    workspace, and on PATH a `python` in a virtual environment that the user may install into.
    """

    @property
    def workspace(self) -> PurePosixPath:
        """The folder of the task's repository, as commands in the sandbox see it."""

    @property
    def results(self) -> PurePosixPath:
        """A folder outside the workspace that commands may write to; not part of snapshots."""

    def mounted(self, name: str) -> PurePosixPath:
        """The path inside the sandbox of the `ReadOnlyMount` with this name.

        Raises:
            KeyError: there is no mount with this name.
        """

    def run(self, command: Command) -> CommandResult:
        """Run a command until its end, its deadline or a limit; its processes are dead afterwards.

        A non-zero exit, a timeout and lack of memory are values, not exceptions. As in a shell,
        the exit code is 127 for a missing program and 126 for one that cannot be executed.

        Raises:
            SandboxError: the sandbox or its engine is lost, or the sandbox was killed before.
            RunCancelled: the run or the command was cancelled; its processes are dead.
        """

    def kill(self) -> None:
        """End every process of the sandbox permanently. Its files stay readable."""

    def read_tree(self, path: PurePosixPath) -> AbstractContextManager[Iterator[bytes]]:
        """The tree below a path as a plain tar stream, with member names relative to the path.

        It works after `kill`. The stream is untrusted: parse it with limits.

        Raises:
            SandboxError: the sandbox is lost, or the path does not exist.
        """

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        """Unpack a plain tar below a folder; all members will belong to the sandbox's user.

        Raises:
            DoesNotFitError: the files exceed the disk limit, if the back end detects it at once.
            SandboxError: the sandbox is lost, or its disk is full.
        """

    def snapshot(self, key: str) -> SnapshotId:
        """Store the installed environment and the workspace under a key, for `open`.

        The key consists of `[a-z0-9-]`. `SandboxProvider.find` returns this state for it, also in
        other processes. An existing snapshot with the key is replaced.

        Raises:
            SandboxError: the sandbox is lost, or cannot be stored, such as Docker's with a plain
                workspace.
        """


OpenSandbox = Callable[[Sequence[ReadOnlyMount]], AbstractContextManager[Sandbox]]
"""Opens a sandbox with additional mounts."""


@runtime_checkable
class LastingSandbox(Sandbox, Protocol):
    """A sandbox in which the processes of a command continue after its end.

    The entrypoint of its image runs from the start. Each method raises SandboxError if the sandbox
    is lost.
    """

    def frozen(self) -> AbstractContextManager[None]:
        """Stop all processes during the block."""

    def set_network(self, network: Network) -> None:
        """Connect it to a public network, or disconnect it; running processes are affected, too.

        A list of hosts disconnects it, since a proxy reaches these (`sandbox.egress`).
        """


@runtime_checkable
class BuildsBaseImages(Protocol):
    """A provider that builds base images."""

    def build_base_image(
        self, python: str, *, progress: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Build the base image with a Python, unless it exists.

        Raises:
            UsageError: no base image has this Python.
            UnavailableError: the image cannot be built.
            SandboxError: the engine is lost.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """The settings in an image for the programs that start in it."""

    workdir: PurePosixPath | None
    user: str  # empty: root


@runtime_checkable
class ManagesImages(Protocol):
    """A provider whose sandboxes start from images of an engine.

    Each method raises SandboxError if the engine is lost.
    """

    def has_image(self, image: str) -> bool:
        """Whether the engine has an image; no registry is asked."""

    def image_settings(self, image: str) -> ImageSettings:
        """The settings of an image.

        Raises:
            SandboxError: the engine does not have the image.
        """

    def is_outdated(self, python: str) -> bool:
        """Whether the base image with a Python was built by another version of agentbench."""

    def image_bytes(self) -> int:
        """The disk space of all images and snapshots in the engine."""


@runtime_checkable
class HasServices(Protocol):
    """A sandbox that may have services.

    Each method raises SandboxError if the engine is lost.
    """

    def service_reports(self) -> tuple[ServiceReport, ...]:
        """The reports on all services so far."""

    def run_in_service(self, service: str, command: Command) -> int | None:
        """Run a command in a service; returns its exit code, or None after its time limit.

        It has the variables and the folder of the service. Its processes may continue.

        Raises:
            SandboxError: the service does not run.
            RunCancelled: the run was cancelled.
        """

    def read_from_service(
        self, service: str, path: PurePosixPath
    ) -> AbstractContextManager[Iterator[bytes]]:
        """A file or folder of a service as a tar stream, with its own name as the first part.

        The service need not be running. The stream is untrusted: parse it with limits.

        Raises:
            SandboxError: there is no such service or path.
        """


@runtime_checkable
class HasHostWorkspace(Protocol):
    """A sandbox whose workspace is a folder of this machine.

    Its content is the agent's, so that it may hold links and devices.
    """

    @property
    def host_workspace(self) -> Path | None:
        """The folder; None: this one has none after all."""


@runtime_checkable
class LogsNetwork(Protocol):
    """A sandbox whose requests for hosts outside are logged."""

    def take_network_log(self) -> bytes:
        """The requests since the last call, as JSON lines; cuts the connections that are open."""


class SandboxProvider(Protocol):
    """Opens sandboxes of one kind; thread-safe.

    Each method raises SandboxError if the engine is lost.
    """

    @property
    def name(self) -> str:
        """`docker`, `bubblewrap` or `process`."""

    @property
    def promises(self) -> frozenset[Promise]:
        """The promises that this back end keeps on this machine, as far as it is known."""

    def describe(self) -> Mapping[str, str]:
        """Engine, version and isolation facts for the record; the keys are stable.

        `python` is present if all sandboxes have this Python, regardless of their image.
        """

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        """The host folders whose disks its sandboxes fill, as far as it is known."""

    def check(self) -> None:
        """Check, within seconds, that sandboxes can be opened now.

        Raises:
            SandboxError: the engine is lost, or does not answer.
        """

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
        user: UserName = AGENT_USER,
    ) -> ImageId:
        """The id of an image by name (None: the default base image), or built from a Dockerfile.

        With `workdir` the workspace is this folder of the image, with its files. They belong to the
        user of agents; if the user is root, their owner in the image is kept.

        Raises:
            UnavailableError: the image is missing; the message says how to get it.
        """

    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        network: bool,
        mounts: Sequence[ReadOnlyMount] = (),
        cancel: Event | None = None,
        use: SandboxUse = ORDINARY_USE,
    ) -> AbstractContextManager[Sandbox]:
        """A fresh sandbox from an image or a snapshot; it is removed when the block ends.

        Args:
            source: The image or snapshot.
            limits: The limits of the sandbox.
            network: Whether it reaches a public network, at first.
            mounts: Files and folders of the host.
            cancel: Once it is set, a running command is killed and `run` raises RunCancelled.
            use: The abilities that it needs.

        Raises:
            UnavailableError: the back end has no services.
            ServiceError: a service does not start, or never becomes healthy.
            SandboxError: it cannot be opened.
        """

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot with a key; None if it is missing or damaged."""

    def discard(self, snapshot: SnapshotId) -> None:
        """Remove a snapshot; a missing one is no error."""


@runtime_checkable
class EngineProvider(SandboxProvider, Protocol):
    """A provider whose sandboxes live in an engine, which outlives the process that uses it."""

    def remove_dead_orphans(self) -> Mapping[str, int]:
        """Remove the remains of dead processes in the engine; returns their number by kind."""

    def sharing_containers(self, background: BackgroundTasks) -> "SandboxProvider":
        """The same provider, which keeps containers for brief sandboxes.

        Args:
            background: Removes the containers; the last ones when it finishes.
        """

    def check_runtime(self, runtime: str) -> None:
        """Check that the engine has a runtime (`Limits.runtime`).

        Raises:
            UnavailableError: it does not have it; the message names its runtimes.
        """

    def check_services(self) -> None:
        """Check that sandboxes can have services.

        Raises:
            UnavailableError: the Compose program is missing, or the engine is not Docker's.
        """

    def prepare_services(self, services: Services) -> ImageId | None:
        """Check services, and build or pull their images unless they exist.

        Returns:
            The image of the sandbox, if the compose file has one.

        Raises:
            UnavailableError: the Compose program is missing.
            SandboxError: a setting is refused, or an image cannot be built or pulled.
        """

    def push(self, snapshot: SnapshotId, name: str, note: bytes) -> None:
        """Push a snapshot of this machine to an image registry.

        Args:
            snapshot: The snapshot.
            name: A name such as `registry.example:5000/team/snapshot:key`; an existing one is
                replaced.
            note: Text that is stored with it; at most about ten thousand bytes.

        Raises:
            SandboxError: the registry refuses or does not answer.
        """

    def pull(self, name: str, key: str) -> bytes | None:
        """Pull the snapshot with a name, and store it under a key.

        Returns:
            The note stored with it; None if the registry has no snapshot with this name.

        Raises:
            SandboxError: the registry refuses or does not answer.
        """
