"""The sandbox in a container: runs commands, reads and writes trees, saves its state."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event, Lock
from typing import assert_never

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.disk_usage import DiskWatch, out_of_disk
from agentbench.sandbox.docker.archives import owned_by_user
from agentbench.sandbox.docker.container import DockerContainer, EndedProcesses, StartedExec
from agentbench.sandbox.docker.container_options import RESULTS
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.exec import ContainerExec, ExecEnd, running_sidecar
from agentbench.sandbox.docker.snapshots import save_snapshot
from agentbench.sandbox.docker.volumes import find_volume, gauge_of, read_volume, write_volume
from agentbench.sandbox.interface import Command, SnapshotId
from agentbench.scoring.evidence import CommandResult, Ending

_GRACE = 1.0  # seconds between TERM and KILL
_DRAIN = 2.0  # seconds for output that was under way when its writers died
_LONGEST_STRING = 128 * 1024  # of an argument or a variable: Linux' MAX_ARG_STRLEN


class DockerSandbox:
    """The `Sandbox` of one container. Commands run one at a time, from whatever thread."""

    def __init__(
        self,
        engine: Engine,
        container: DockerContainer,
        *,
        mounts: Mapping[str, PurePosixPath],
        cancel: Event | None,
    ) -> None:
        self._engine = engine
        self._container = container
        self._mounts = mounts
        self._cancel = cancel
        self._lock = Lock()
        self._watch = DiskWatch(gauge_of(container), container.plan.limits)

    @property
    def workspace(self) -> PurePosixPath:
        """Where the task's repository lives."""
        return self._container.plan.workspace

    @property
    def results(self) -> PurePosixPath:
        """An empty folder that commands may write to."""
        return RESULTS

    def mounted(self, name: str) -> PurePosixPath:
        """The path inside of the mount that bears this name.

        Raises:
            KeyError: nothing of that name was mounted.
        """
        return self._mounts[name]

    def run(self, command: Command) -> CommandResult:
        """Run to its end, to its deadline or to the limit; every process of it is dead after.

        Raises:
            SandboxError: the engine or the container is lost, or it was killed before.
            RunCancelled: the run or the command was cancelled; its processes are dead.
        """
        if _too_long(command):
            text = "argument list too long\n"
            return CommandResult(
                argv=command.argv,
                ending=Ending.EXITED,
                exit_code=126,
                duration=timedelta(),
                stderr=text,
            )
        with self._lock, running_sidecar(self._container, command.sidecar):
            self._container.require_alive()
            execution = ContainerExec(command, str(command.cwd or self.workspace))
            started = self._container.begin(list(execution.argv), execution.env)
            with started.wire:
                return self._watched(execution, started, command)

    def kill(self) -> None:
        """End every process, for good. The files stay readable.

        Raises:
            SandboxError: the engine or the container is lost.
        """
        idle = self._lock.acquire(blocking=False)
        try:
            self._container.kill(idle=idle)
        finally:
            if idle:
                self._lock.release()

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        """The tree under a path as a plain tar stream, member names relative to that path.

        Raises:
            SandboxError: the sandbox is lost, or there is no such folder.
        """
        doing = f"read {path}"
        found = self._volume_here(path)
        if found is not None:
            with read_volume(*found, doing) as tar:
                yield tar
            return
        with self._engine.api(doing, moves_files=True) as api:
            stream, _ = api.get_archive(self._container.name, f"{path}/.", chunk_size=1 << 20)
        with closing(stream):
            yield self._guarded(stream, doing)

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        """Unpack a plain tar under a folder; all members will belong to the sandbox's user.

        Raises:
            SandboxError: the sandbox is lost, or the tree does not fit on its disk.
        """
        self._container.require_alive()
        found = self._volume_here(path)
        if found is not None and write_volume(*found, tar, f"write to {path}"):
            return
        owned = owned_by_user(tar)
        try:
            self._put(path, owned)
        except DockerNotFoundError:
            self.run(Command(argv=("mkdir", "-p", str(path)), timeout=timedelta(minutes=1), env={}))
            self._put(path, owned)

    def snapshot(self, key: str) -> SnapshotId:
        """Remember the installed environment and the workspace under a key.

        Raises:
            SandboxError: the sandbox is lost, or it was killed before.
        """
        with self._lock:
            self._container.require_alive()
            return save_snapshot(self._engine, self._container, key)

    def _volume_here(self, path: PurePosixPath) -> tuple[Path, tuple[str, ...]] | None:
        return find_volume(self._container, path) if self._engine.is_local else None

    def _put(self, path: PurePosixPath, tar: bytes) -> None:
        with self._engine.api(f"write to {path}", moves_files=True) as api:
            api.put_archive(self._container.name, str(path), tar)

    def _guarded(self, stream: Iterator[bytes], doing: str) -> Iterator[bytes]:
        with self._engine.api(doing):
            yield from stream

    def _watched(
        self, execution: ContainerExec, started: StartedExec, command: Command
    ) -> CommandResult:
        self._watch.begin()
        try:
            result = self._attend(execution, started, command)
        finally:
            exceeded = self._watch.end()
        return out_of_disk(result, exceeded)

    def _is_full(self) -> bool:
        return bool(self._watch.exceeded())

    def _attend(
        self, execution: ContainerExec, started: StartedExec, command: Command
    ) -> CommandResult:
        try:
            execution.begin(started.wire)
            seconds = command.timeout.total_seconds()
            stop = execution.listen(started.wire, seconds, self._cancel, self._is_full)
            if stop is ExecEnd.DEADLINE:
                self._container.signal("TERM")
                execution.listen(started.wire, _GRACE, self._cancel)
        finally:
            duration = execution.duration
            aftermath = self._container.end_processes()
        match stop:
            case ExecEnd.CANCELLED:
                raise RunCancelled
            case ExecEnd.DEADLINE:
                execution.listen(started.wire, _DRAIN)
                code = None
            case ExecEnd.FULL:
                execution.listen(started.wire, _DRAIN)
                code = 137
            case ExecEnd.MARKED:
                code = execution.exit_code
            case ExecEnd.CUT_OFF:
                code = self._code_of_cut_off(execution, started, aftermath)
            case _:
                assert_never(stop)
        return _command_result(command, execution, code, duration, aftermath)

    def _code_of_cut_off(
        self, execution: ContainerExec, started: StartedExec, aftermath: EndedProcesses
    ) -> int:
        """The exit code of a command whose shell did not live to tell it."""
        if aftermath.restarted:
            return 137
        code = self._container.exit_code_of(started)
        if code is None or code <= 128:  # the shell itself never started, or did not get so far
            said = execution.output.stdout.text().strip() or f"exit code {code}"
            raise SandboxError(f"the engine lost a command or could not start it: {said}")
        return code


def _command_result(
    command: Command,
    execution: ContainerExec,
    code: int | None,
    duration: timedelta,
    aftermath: EndedProcesses,
) -> CommandResult:
    number = code - 128 if code is not None and 128 < code <= 128 + 64 else None
    ending = Ending.EXITED if number is None else Ending.KILLED
    if aftermath.out_of_memory and code != 0:
        ending = Ending.OUT_OF_MEMORY
    if code is None:
        ending = Ending.TIMED_OUT
    output = execution.output
    return CommandResult(
        argv=command.argv,
        ending=ending,
        exit_code=code,
        signal=number,
        duration=duration,
        timeout=command.timeout if ending is Ending.TIMED_OUT else None,
        stdout=output.stdout.text(),
        stderr=output.stderr.text(),
        truncated=output.stdout.truncated or output.stderr.truncated,
        output_bytes=output.stdout.total + output.stderr.total,
        peak_memory_bytes=aftermath.peak_memory_bytes,
        cpu_seconds=aftermath.cpu_seconds,
    )


def _too_long(command: Command) -> bool:
    """Whether the kernel would refuse it; the engine would not say so as a shell does."""
    variables = (f"{name}={value}" for name, value in command.env.items())
    return any(len(text.encode()) >= _LONGEST_STRING for text in (*command.argv, *variables))
