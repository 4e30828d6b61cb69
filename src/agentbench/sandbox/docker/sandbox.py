"""The sandbox in a container: runs commands, reads and writes trees, saves its state."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event, Lock
from typing import assert_never

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.disk_usage import DiskWatch
from agentbench.sandbox.docker.archives import owned_by_user
from agentbench.sandbox.docker.container import DockerContainer, EndedProcesses, StartedExec
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.exec import ContainerExec, ExecEnd, running_sidecar
from agentbench.sandbox.docker.snapshots import save_snapshot
from agentbench.sandbox.docker.volumes import find_volume, gauge_of, read_volume, write_volume
from agentbench.sandbox.interface import RESULTS, Command, SnapshotId, Stream
from agentbench.sandbox.supervise import command_result
from agentbench.scoring.evidence import CommandResult, Ending

_GRACE = 1.0  # seconds between TERM and KILL
_DRAIN = 2.0  # seconds for output that its dead writers had already sent
_LONGEST_STRING = 128 * 1024  # of an argument or a variable: Linux' MAX_ARG_STRLEN


class DockerSandbox:
    """The `Sandbox` of one container; thread-safe, and commands run one at a time."""

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
        """See Sandbox.workspace."""
        return self._container.plan.workspace

    @property
    def results(self) -> PurePosixPath:
        """See Sandbox.results."""
        return RESULTS

    def mounted(self, name: str) -> PurePosixPath:
        """See Sandbox.mounted."""
        return self._mounts[name]

    def run(self, command: Command) -> CommandResult:
        """See Sandbox.run."""
        # The kernel would refuse it, but the engine would not report this as a shell does.
        variables = (f"{name}={value}" for name, value in command.env.items())
        if any(len(text.encode()) >= _LONGEST_STRING for text in (*command.argv, *variables)):
            return CommandResult(
                argv=command.argv,
                ending=Ending.EXITED,
                exit_code=126,
                duration=timedelta(),
                stderr="argument list too long\n",
            )
        with self._lock, running_sidecar(self._container, command.sidecar):
            self._container.require_alive()
            execution = ContainerExec(command, str(command.cwd or self.workspace))
            started = self._container.begin(list(execution.argv), execution.env)
            with started.stream:
                return self._watch.watched(lambda: self._attend(execution, started, command))

    def kill(self) -> None:
        """See Sandbox.kill."""
        idle = self._lock.acquire(blocking=False)
        try:
            self._container.kill(idle=idle)
        finally:
            if idle:
                self._lock.release()

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        """See Sandbox.read_tree."""
        doing = f"read {path}"
        found = self._host_volume(path)
        if found is not None:
            with read_volume(*found, doing) as tar:
                yield tar
            return
        with self._engine.api(doing, moves_files=True) as api:
            stream, _ = api.get_archive(self._container.name, f"{path}/.", chunk_size=1 << 20)

        def chunks() -> Iterator[bytes]:
            """The stream, with the engine's errors as ours."""
            with self._engine.api(doing):
                yield from stream

        with closing(stream):
            yield chunks()

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        """See Sandbox.write_tree."""
        self._container.require_alive()
        found = self._host_volume(path)
        if found is not None and write_volume(*found, tar, f"write to {path}"):
            return
        owned = owned_by_user(tar)
        try:
            self._put(path, owned)
        except DockerNotFoundError:
            self.run(Command(argv=("mkdir", "-p", str(path)), timeout=timedelta(minutes=1), env={}))
            self._put(path, owned)

    def snapshot(self, key: str) -> SnapshotId:
        """See Sandbox.snapshot."""
        with self._lock:
            self._container.require_alive()
            return save_snapshot(self._engine, self._container, key)

    def _host_volume(self, path: PurePosixPath) -> tuple[Path, tuple[str, ...]] | None:
        return find_volume(self._container, path) if self._engine.is_local else None

    def _put(self, path: PurePosixPath, tar: bytes) -> None:
        with self._engine.api(f"write to {path}", moves_files=True) as api:
            api.put_archive(self._container.name, str(path), tar)

    def _attend(
        self, execution: ContainerExec, started: StartedExec, command: Command
    ) -> CommandResult:
        stream = started.stream
        try:
            execution.begin(stream)
            seconds = command.timeout.total_seconds()
            stop = execution.listen(
                stream, seconds, self._cancel, lambda: bool(self._watch.exceeded())
            )
            if stop is ExecEnd.DEADLINE:
                self._container.signal("TERM")
                execution.listen(stream, _GRACE, self._cancel)
        finally:
            duration = execution.duration
            processes = self._container.end_processes()
        match stop:
            case ExecEnd.CANCELLED:
                raise RunCancelled
            case ExecEnd.DEADLINE:
                execution.listen(stream, _DRAIN)
                code = None
            case ExecEnd.FULL:
                execution.listen(stream, _DRAIN)
                code = 137
            case ExecEnd.MARKED:
                code = execution.exit_code
            case ExecEnd.CUT_OFF:
                code = self._code_of_cut_off(execution, started, processes)
            case _:
                assert_never(stop)
        return command_result(command, code, execution.output, duration=duration, use=processes)

    def _code_of_cut_off(
        self, execution: ContainerExec, started: StartedExec, processes: EndedProcesses
    ) -> int:
        """The exit code of a command whose shell died before it reported one."""
        if processes.restarted:
            return 137
        code = self._container.exit_code_of(started)
        if code is None or code <= 128:  # the shell did not start, or died too early
            output = execution.output[Stream.STDOUT].text().strip() or f"exit code {code}"
            raise SandboxError(f"the engine lost a command or could not start it: {output}")
        return code
