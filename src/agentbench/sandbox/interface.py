"""The protocols of sandboxes and of their providers.

Commands, limits, mounts, snapshots, and sharing snapshots by a registry.

Three back ends fulfil it (docker, bubblewrap, process) and pass one conformance suite,
`tests/sandbox/conformance.py`, as far as each one's `promises` go.
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

from agentbench.scoring.evidence import CommandResult

SnapshotId = NewType("SnapshotId", str)
"""Names a state that a provider remembered; of use to that provider only."""

ImageId = NewType("ImageId", str)
"""Names what a sandbox starts from, in the provider's own terms."""

DEFAULT_OUTPUT_CAP = 10 * 1024 * 1024
"""Bytes kept of each output stream of a command: half of it from the head, half from the tail."""


class Stream(StrEnum):
    """Which output a chunk came from."""

    STDOUT = "stdout"
    STDERR = "stderr"


OutputSink = Callable[[Stream, bytes], None]
"""Is handed every chunk of output the moment it arrives, past the cap too."""


class Promise(StrEnum):
    """What a back end may promise; one that it lacks is a named gap, shown by `doctor`."""

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
    """What a sandbox may use, over all its processes together."""

    cpus: float = 1.0
    memory_mib: int = 2048
    pids: int = 256
    disk_mib: int = 4096  # of all that its writable places hold, and of each file by its size
    files: int = 300_000  # files, folders and links that they hold
    open_files: int = 16_384  # descriptors of each process


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyMount:
    """A file or folder of ours that a sandbox sees, read-only, under a name.

    Where the engine shares no file system with us it is copied in instead.
    """

    name: str
    source: Path
    live: bool = False  # of use only in place, since it holds a socket: else it is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A program in the sandbox that speaks, by its stdin and stdout, with somebody on this side.

    It takes the place of a live mount that was left out, and is run where that happens only. What
    it says comes from where the agent rules.
    """

    argv: tuple[str, ...]
    attend: Callable[[socket], AbstractContextManager[None]]
    """Entered before the command starts, with the program's streams, and left when it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command to run in a sandbox. No shell is involved unless argv names one."""

    argv: tuple[str, ...]
    timeout: timedelta
    cwd: PurePosixPath | None = None  # the workspace
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    stdin: bytes = b""
    sink: OutputSink | None = None
    output_cap: int = DEFAULT_OUTPUT_CAP  # bytes a stream
    cancel: Event | None = None  # set while it runs, it ends this command, not the sandbox
    sidecar: Sidecar | None = None  # runs as long as the command

    @property
    def cancelled(self) -> bool:
        """Whether whoever gave it has changed their mind."""
        return self.cancel is not None and self.cancel.is_set()


class Sandbox(Protocol):
    """One place in which commands run, isolated as far as its back end promises.

    It bears an unprivileged user, a writable `workspace`, a writable `results` folder outside the
    workspace, and on PATH a `python` in a virtual environment which that user may install into.
    """

    @property
    def workspace(self) -> PurePosixPath:
        """Where the task's repository lives, as commands in the sandbox see it."""

    @property
    def results(self) -> PurePosixPath:
        """An empty folder that commands may write to, outside the workspace; never snapshotted."""

    def mounted(self, name: str) -> PurePosixPath:
        """The path inside the sandbox of the `ReadOnlyMount` that bears this name.

        Raises:
            KeyError: nothing of that name was mounted.
        """

    def run(self, command: Command) -> CommandResult:
        """Run to its end, to its deadline or to the limit; every process of it is dead after.

        A non-zero exit, a timeout and lack of memory are values, not exceptions. A program that
        does not exist exits 127, one that may not be executed 126, as in a shell.

        Raises:
            SandboxError: the sandbox or its engine is lost (or it was killed before).
            RunCancelled: the run or the command was cancelled; its processes are dead.
        """

    def kill(self) -> None:
        """End every process of the sandbox, for good. Its files stay readable."""

    def read_tree(self, path: PurePosixPath) -> AbstractContextManager[Iterator[bytes]]:
        """The tree under a path as a plain tar stream, member names relative to that path.

        Works after `kill`. The stream is whatever an agent left: parse it with limits.

        Raises:
            SandboxError: the sandbox is lost, or there is no such path.
        """

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        """Unpack a plain tar under a folder; all members will belong to the sandbox's user.

        Raises:
            DoesNotFitError: it is more than the sandbox may hold, where that is seen at once.
            SandboxError: the sandbox is lost, or its disk is full.
        """

    def snapshot(self, key: str) -> SnapshotId:
        """Remember the installed environment and the workspace under a key, for `open`.

        The key is made of `[a-z0-9-]` and names the content: whoever asks `SandboxProvider.find`
        for it later, in another process too, gets this state. A key that exists is replaced.

        Raises:
            SandboxError: the sandbox is lost.
        """


@runtime_checkable
class BuildsBaseImages(Protocol):
    """A provider that makes base images."""

    def build_base_image(
        self, python: str, *, progress: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Make the base image with a Python, unless it is there.

        Raises:
            UsageError: no base image has this Python.
            UnavailableError: it cannot be made.
            SandboxError: the engine is lost.
        """


class SandboxProvider(Protocol):
    """Opens sandboxes of one kind. Safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """`docker`, `bubblewrap` or `process`."""

    @property
    def promises(self) -> frozenset[Promise]:
        """What this back end keeps on this machine, as far as could be found out."""

    def describe(self) -> Mapping[str, str]:
        """Engine, version, isolation facts for the record; keys are stable words.

        `python` is there where all sandboxes have that one Python, whatever their image is called.
        """

    @property
    def disk_folders(self) -> tuple[Path, ...]:
        """The folders of this machine whose disks its sandboxes fill, as far as can be seen."""

    def check(self) -> None:
        """Find out, within seconds, whether sandboxes can be made at present.

        Raises:
            SandboxError: the engine is lost, or does not answer.
        """

    def resolve_image(
        self,
        image: str | None,
        *,
        dockerfile: Path | None = None,
        workdir: PurePosixPath | None = None,
    ) -> ImageId:
        """The id of an image by name (None: the default base image), or built from a Dockerfile.

        With `workdir` its sandboxes have their workspace there, with what the image holds in it.

        Raises:
            UnavailableError: it is not there and cannot be had; says how to get it.
            SandboxError: the engine is lost.
        """

    def open(
        self,
        source: ImageId | SnapshotId,
        *,
        limits: Limits,
        network: bool,
        mounts: Sequence[ReadOnlyMount] = (),
        cancel: Event | None = None,
    ) -> AbstractContextManager[Sandbox]:
        """A fresh sandbox from an image or a snapshot; all of it is gone when the block ends.

        Once `cancel` is set, a command in it is killed and `run` raises RunCancelled.

        Raises:
            SandboxError: it could not be made.
        """

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot that was made under a key, if it is still whole.

        Raises:
            SandboxError: the engine is lost.
        """

    def discard(self, snapshot: SnapshotId) -> None:
        """Forget a snapshot and free what it holds; a snapshot that is gone is no error."""


@runtime_checkable
class SharesSnapshots(Protocol):
    """A provider that pushes snapshots to an image registry and pulls them from there."""

    def push(self, snapshot: SnapshotId, name: str, note: bytes) -> None:
        """Put a snapshot into a registry.

        Args:
            snapshot: One of this machine's.
            name: As `registry.example:5000/team/snapshot:key`; what bears it is replaced.
            note: Goes with it; some ten thousand bytes at most.

        Raises:
            SandboxError: the registry does not take it or does not answer, or the engine is lost.
        """

    def pull(self, name: str, key: str) -> bytes | None:
        """Have the snapshot of a name under a key of this machine.

        Returns:
            The note that came with it; `None` where the registry has no snapshot of that name.

        Raises:
            SandboxError: the registry does not answer or refuses, or the engine is lost.
        """
