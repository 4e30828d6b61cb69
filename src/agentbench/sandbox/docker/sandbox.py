"""A sandbox in a container, and its commands.

The shell script `WRAPPER` runs each command as its child. It ends both streams with a mark and the
exit code, then stops and waits to be killed. This has three purposes. All output has arrived once
both marks have, even if an engine ends a stream early. The end of the command is visible even if
its daemon keeps the streams open. And the command's output starts only after our first line is
read: the SDK discards bytes that arrive together with the engine's answer.
"""

import re
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from enum import Enum, auto
from pathlib import PurePosixPath
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, assert_never

from agentbench.core.network import Network
from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.disk_usage import DiskWatch
from agentbench.sandbox.docker.archives import owned_by_user, read_archive
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container import DockerContainer, StartedExec
from agentbench.sandbox.docker.container_options import account_of
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.snapshots import save_snapshot
from agentbench.sandbox.docker.volumes import (
    HostPath,
    find_volume,
    gauge_of,
    read_volume,
    write_volume,
)
from agentbench.sandbox.interface import (
    RESULTS,
    Command,
    ServiceReport,
    Sidecar,
    SnapshotId,
    Stream,
)
from agentbench.sandbox.supervise import OutputCapture, command_result
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.tasks.users import ROOT_USER

if TYPE_CHECKING:
    from agentbench.sandbox.docker.compose import ComposeProject

WRAPPER = r"""
ab_mark=$1 ab_size=$2 ab_folder=$3 ab_path=$4 ab_end=$5
shift 5
ab_run() {
  cd "$ab_folder" || exit 126
  unset OLDPWD PWD SHLVL
  PATH=${ab_path:-$PATH}
  exec "$@"
}
read -r ab_go || exit 125
trap : TERM HUP INT QUIT USR1 USR2
{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null # so the main process dies last
if [ "$ab_size" -gt 0 ]; then
  head -c "$ab_size" > "/tmp/.input-$ab_mark" && exec 3< "/tmp/.input-$ab_mark" || exit 125
  rm -f "/tmp/.input-$ab_mark"
  (ab_run "$@") <&3 3<&-
else
  (ab_run "$@") < /dev/null
fi
ab_code=$?
printf '\0%s:%03d\n' "$ab_mark" "$ab_code"
printf '\0%s:%03d\n' "$ab_mark" "$ab_code" >&2
[ "$ab_end" = exit ] || kill -s STOP $$
"""
_POLL = 0.1  # seconds between two checks of the clock and the cancel event
_BUFFER_BYTES = 256 * 1024  # bytes each way
_SIDECAR_POLL = 0.2  # seconds between two checks whether the peer has closed
_GRACE = 1.0  # seconds between TERM and KILL
_DRAIN = 2.0  # seconds for output that processes sent before they died
_LONGEST_STRING = 128 * 1024  # of an argument or a variable: Linux' MAX_ARG_STRLEN


class ExecEnd(Enum):
    """The reason why `listen` returned."""

    MARKED = auto()  # the command ended, with a mark on both streams
    CUT_OFF = auto()  # the connection ended before that
    DEADLINE = auto()
    CANCELLED = auto()
    FULL = auto()  # the sandbox exceeds its disk limit


class ContainerExec:
    """A command in a container, before its start and while it runs."""

    def __init__(self, command: Command, folder: str, *, lasting: bool = False) -> None:
        mark = secrets.token_hex(8)
        self._command = command
        self._channels = {stream: _MarkedStream(command.output_cap, mark) for stream in Stream}
        self.argv: Sequence[str] = (
            *("/bin/sh", "-c", WRAPPER, "sh"),
            *(mark, str(len(command.stdin)), folder, command.env.get("PATH", "")),
            "exit" if lasting else "stop",
            *command.argv,
        )
        # The shell needs a PATH of its own, so the command's is an argument of it.
        self.env = {name: value for name, value in command.env.items() if name != "PATH"}
        self._started = time.monotonic()

    @property
    def duration(self) -> timedelta:
        return timedelta(seconds=time.monotonic() - self._started)

    @property
    def exit_code(self) -> int | None:
        """Its exit code, once it is known."""
        return self._channels[Stream.STDOUT].exit_code

    @property
    def output(self) -> Mapping[Stream, OutputCapture]:
        return {stream: channel.capture for stream, channel in self._channels.items()}

    def begin(self, connection: AttachedStream) -> None:
        """Start it, and send its input."""
        self._started = time.monotonic()
        connection.send(b"go\n" + self._command.stdin, self._command.timeout.total_seconds())

    def listen(
        self,
        connection: AttachedStream,
        seconds: float,
        cancel: Event | None = None,
        exceeded: Callable[[], str] = lambda: "",
    ) -> ExecEnd:
        """Receive its output until it ends, or for some seconds."""
        deadline = time.monotonic() + seconds
        while not connection.ended:
            remaining = deadline - time.monotonic()
            if self._command.cancelled or (cancel is not None and cancel.is_set()):
                return ExecEnd.CANCELLED
            if remaining <= 0:
                return ExecEnd.DEADLINE
            if exceeded():
                return ExecEnd.FULL
            for stream, data in connection.receive(min(remaining, _POLL)):
                self._take(stream, self._channels[stream].feed(data))
            if all(channel.exit_code is not None for channel in self._channels.values()):
                return ExecEnd.MARKED
        for stream, channel in self._channels.items():
            self._take(stream, channel.rest())
        return ExecEnd.CUT_OFF

    def _take(self, stream: Stream, data: bytes) -> None:
        if data:
            self._channels[stream].capture.feed(data)
            if self._command.sink is not None:
                self._command.sink(stream, data)


class _MarkedStream:
    """One stream, up to the mark that ends it."""

    def __init__(self, cap: int, mark: str) -> None:
        self.capture = OutputCapture(cap)
        self.exit_code: int | None = None
        self._mark = re.compile(b"\0" + mark.encode() + rb":(\d{3})\n")
        self._mark_size = len(mark) + 6
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """The part that belongs to the command; a possible beginning of the mark is held back."""
        if self.exit_code is not None:
            return b""
        data, self._pending = self._pending + data, b""
        if found := self._mark.search(data):
            self.exit_code = int(found[1])
            return data[: found.start()]
        start = data.rfind(b"\0", max(0, len(data) - self._mark_size))
        if start >= 0:
            data, self._pending = data[:start], data[start:]
        return data

    def rest(self) -> bytes:
        """The part that was held back, once the stream has ended."""
        rest, self._pending = self._pending, b""
        return rest


@contextmanager
def running_sidecar(container: DockerContainer, sidecar: Sidecar) -> Iterator[None]:
    """Run a program during the block; it ends with all processes of the command."""
    ours, theirs = socket.socketpair()
    with ours, theirs, container.begin(list(sidecar.argv), {}).stream as stream:
        pump = Thread(target=_pump, args=(stream, theirs), name="agentbench-sidecar", daemon=True)
        pump.start()
        try:
            with sidecar.attend(ours):
                yield
        finally:
            with suppress(OSError):  # this ends the pump
                theirs.shutdown(socket.SHUT_RDWR)
            pump.join()


def _pump(connection: AttachedStream, peer: socket.socket) -> None:
    """Copy bytes between an engine's connection and a socket until one side ends; then close both.

    One thread serves both directions, since threads cannot share a TLS connection.
    """
    to_sandbox, to_peer = bytearray(), bytearray()
    peer_ended = False
    peer.settimeout(0)
    with selectors.DefaultSelector() as selector, peer, connection:
        while not peer_ended and not (connection.ended and not to_peer):
            # Wait until one side can go on.
            is_open, has_space = not connection.ended, len(to_peer) < _BUFFER_BYTES
            interests = {
                connection.fileno(): (is_open and has_space, is_open and bool(to_sandbox)),
                peer.fileno(): (len(to_sandbox) < _BUFFER_BYTES, bool(to_peer)),
            }
            for descriptor, (reads, writes) in interests.items():
                events = reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE
                if events:
                    selector.register(descriptor, events)
            selector.select(0 if connection.holds_more and has_space else _SIDECAR_POLL)
            for key in list(selector.get_map().values()):
                selector.unregister(key.fileobj)

            if is_open and has_space:
                for frame in connection.receive_now():
                    if frame.stream is Stream.STDOUT:
                        to_peer += frame.data
            if to_sandbox and not connection.ended:
                del to_sandbox[: connection.send_some(to_sandbox)]
            with suppress(BlockingIOError):
                try:
                    if to_peer:
                        del to_peer[: peer.send(to_peer)]
                except ConnectionError:
                    peer_ended = True
            if len(to_sandbox) < _BUFFER_BYTES:
                with suppress(BlockingIOError):
                    try:
                        data = peer.recv(_BUFFER_BYTES)
                    except ConnectionError:
                        data = b""
                    peer_ended = peer_ended or not data
                    to_sandbox += data


class DockerSandbox:
    """The `Sandbox` of one container; thread-safe, and commands run one at a time."""

    def __init__(
        self,
        engine: Engine,
        container: DockerContainer,
        *,
        mounts: Mapping[str, PurePosixPath],
        cancel: Event | None,
        project: "ComposeProject | None" = None,
    ) -> None:
        self._project = project
        self._engine = engine
        self._container = container
        self._mounts = mounts
        self._cancel = cancel
        self._lock = Lock()
        self._watch = DiskWatch(
            gauge_of(container, () if project is None else project.folders()),
            container.plan.limits,
        )

    @property
    def workspace(self) -> PurePosixPath:
        return self._container.plan.workspace

    @property
    def results(self) -> PurePosixPath:
        return RESULTS

    def mounted(self, name: str) -> PurePosixPath:
        return self._mounts[name]

    def run(self, command: Command) -> CommandResult:
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
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            for each in command.sidecars:
                stack.enter_context(running_sidecar(self._container, each))
            self._container.require_alive()
            lasting = self._container.plan.keeps_processes
            execution = ContainerExec(command, str(command.cwd or self.workspace), lasting=lasting)
            started = self._start(execution, command)
            stack.enter_context(started.stream)
            return self._watch.watched(lambda: self._attend(execution, started, command))

    def frozen(self) -> AbstractContextManager[None]:
        return self._container.frozen()

    def set_network(self, network: Network) -> None:
        self._container.set_connected(connected=network is True)
        if self._project is not None:
            self._project.reach(network)

    def kill(self) -> None:
        idle = self._lock.acquire(blocking=False)
        try:
            self._container.kill(idle=idle)
        finally:
            if idle:
                self._lock.release()

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        doing = f"read {path}"
        found = self._host_volume(path)
        if found is not None:
            with read_volume(found, doing) as tar:
                yield tar
            return
        with read_archive(self._engine, self._container.name, f"{path}/.", doing) as tar:
            yield tar

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        self._container.require_alive()
        found = self._host_volume(path)
        owner_id = self._container.plan.owner_id
        if found is not None and write_volume(found, tar, f"write to {path}", owner_id):
            return
        owned = owned_by_user(tar, owner_id)
        argv: tuple[str, ...] = ("mkdir", "-p", str(path))
        owner = None if owner_id else ROOT_USER
        make = Command(argv=argv, timeout=timedelta(minutes=1), cwd=PurePosixPath("/"), user=owner)
        if self._container.plan.is_in_memory(path):  # the engine cannot write there
            argv = ("sh", "-c", 'mkdir -p "$0" && tar -xf - -C "$0"', str(path))
            done = self.run(replace(make, argv=argv, stdin=owned))
            if not done.ok:
                raise SandboxError(f"cannot write to {path}: {done.stderr.strip()[:200]}")
            return
        try:
            self._put(path, owned)
        except DockerNotFoundError:
            self.run(make)
            self._put(path, owned)

    def snapshot(self, key: str) -> SnapshotId:
        with self._lock:
            self._container.require_alive()
            return save_snapshot(self._engine, self._container, key)

    def service_reports(self) -> tuple[ServiceReport, ...]:
        return () if self._project is None else self._project.reports()

    def run_in_service(self, service: str, command: Command) -> int | None:
        with self._engine.api("run a command in a service") as api:
            created = api.exec_create(
                self._service(service),
                [*command.argv],
                user="" if command.user is None else account_of(command.user),
                environment=dict(command.env),
            )
            stream = AttachedStream(api.exec_start(created["Id"], socket=True))
        deadline = time.monotonic() + command.timeout.total_seconds()
        with stream:
            while not stream.ended:
                if self._cancel is not None and self._cancel.is_set():
                    raise RunCancelled
                if time.monotonic() > deadline:
                    return None
                for frame in stream.receive(_POLL):
                    if command.sink is not None:
                        command.sink(frame.stream, frame.data)
        return self._container.exit_code_of(str(created["Id"]))

    def read_from_service(
        self, service: str, path: PurePosixPath
    ) -> AbstractContextManager[Iterator[bytes]]:
        doing = f"read {path} of a service"
        return read_archive(self._engine, self._service(service), str(path), doing)

    def _start(self, execution: ContainerExec, command: Command) -> StartedExec:
        return self._container.begin(list(execution.argv), execution.env, command.user)

    def _service(self, name: str) -> str:
        if self._project is None:
            raise SandboxError(f"there is no service {name}: the sandbox has none")
        return self._project.container_of(name)

    def _host_volume(self, path: PurePosixPath) -> HostPath | None:
        return find_volume(self._container, path) if self._engine.address.is_local else None

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
            stop = execution.listen(stream, seconds, self._cancel, self._watch.exceeded)
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
            case ExecEnd.CUT_OFF if processes.restarted:
                code = 137
            case ExecEnd.CUT_OFF:  # its shell died before it reported an exit code
                code = self._container.exit_code_of(started.id)
                if code is None or code <= 128:  # the shell did not start, or died too early
                    output = execution.output[Stream.STDOUT].text().strip() or f"exit code {code}"
                    raise SandboxError(f"the engine lost a command or could not start it: {output}")
            case _:
                assert_never(stop)
        return command_result(command, code, execution.output, duration=duration, use=processes)
