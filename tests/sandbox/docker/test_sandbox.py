import io
import socket
import ssl
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

import pytest
import trustme

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.attached_stream import AttachedStream
from agentbench.sandbox.docker.container import StartedExec
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.docker.sandbox import ContainerExec, ExecEnd, running_sidecar
from agentbench.sandbox.interface import Command, ImageId, Sandbox, Sidecar, Stream
from agentbench.scoring.evidence import Ending
from tests.patience import HANG_SECONDS
from tests.sandbox.conformance_base import LIMITS, PATIENCE, python, sh
from tests.sandbox.conformance_endings import run_into_limit
from tests.sandbox.docker.test_attached_stream import Ends, ends, frame
from tests.sandbox.docker_fixtures import containers_in, engine, image, provider

__all__ = ["ends", "engine", "image", "provider"]


def a_command(**changes: object) -> Command:
    limit = timedelta(seconds=HANG_SECONDS)
    return Command(argv=("x",), timeout=limit, **changes)


def mark_of(execution: ContainerExec, code: int) -> bytes:
    return f"\0{execution.argv[4]}:{code:03}\n".encode()


def test_marks_on_both_streams_end_the_command_with_its_exit_code(ends: Ends) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    mark = mark_of(execution, 3)
    engine.sendall(frame(1, b"out\n" + mark) + frame(2, mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.exit_code == 3
    assert execution.output[Stream.STDOUT].text() == "out\n"
    assert execution.output[Stream.STDERR].text() == ""


@pytest.mark.parametrize("cut", range(1, 22))
def test_mark_is_found_across_any_chunk_boundary(ends: Ends, cut: int) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    mark = mark_of(execution, 0)
    engine.sendall(frame(2, mark) + frame(1, b"a\0b" + mark[:cut]))
    read_once = iter(("", "1 MiB"))
    assert execution.listen(wire, HANG_SECONDS, exceeded=lambda: next(read_once)) is ExecEnd.FULL
    engine.sendall(frame(1, mark[cut:]))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.output[Stream.STDOUT].text() == "a\0b"


def test_one_mark_does_not_end_the_command(ends: Ends) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    engine.sendall(frame(1, mark_of(execution, 0)))
    engine.close()
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.CUT_OFF


def test_zero_bytes_of_the_command_are_output(ends: Ends) -> None:
    wire, engine = ends
    seen = bytearray()
    execution = ContainerExec(a_command(sink=lambda _stream, data: seen.extend(data)), "/")
    text = b"\0" * 100 + b"\0abc"
    mark = mark_of(execution, 0)
    for byte in text + mark:
        engine.sendall(frame(1, bytes([byte])))
    engine.sendall(frame(2, mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert seen == text


def test_beginning_of_a_mark_is_output_at_the_end_of_the_stream(ends: Ends) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(), "/")
    engine.sendall(frame(1, b"text\0"))
    engine.close()
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.CUT_OFF
    assert execution.output[Stream.STDOUT].text() == "text\0"


def test_each_stream_has_a_cap_of_its_own(ends: Ends) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(output_cap=4), "/")
    mark = mark_of(execution, 0)
    engine.sendall(frame(1, b"0123456789" + mark) + frame(2, b"abcd" + mark))
    assert execution.listen(wire, HANG_SECONDS) is ExecEnd.MARKED
    assert execution.output[Stream.STDOUT].truncated
    assert execution.output[Stream.STDERR].text() == "abcd"


def test_input_follows_the_line_that_lets_the_command_run(ends: Ends) -> None:
    wire, engine = ends
    execution = ContainerExec(a_command(stdin=b"input"), "/")
    execution.begin(wire)
    assert engine.recv(100) == b"go\ninput"
    assert execution.argv[5] == "5"


def test_every_execution_has_a_mark_of_its_own() -> None:
    assert len({ContainerExec(a_command(), "/").argv[4] for _ in range(100)}) == 100


def test_the_commands_path_does_not_become_its_shells() -> None:
    execution = ContainerExec(a_command(env={"PATH": "/x", "A": "b"}), "/")
    assert execution.env == {"A": "b"}
    assert execution.argv[7] == "/x"


PUMP_SECONDS = 60.0
BIG = bytes(range(256)) * 40_000  # 10 MB


class _Container:
    """Has one program started, whose engine is the test."""

    def __init__(self, ends: tuple[socket.socket, socket.socket] | None = None) -> None:
        self.ours, self.engines = ends or socket.socketpair()
        self.engines.settimeout(PUMP_SECONDS)
        self.began: list[list[str]] = []

    def begin(self, argv: list[str], _env: dict[str, str]) -> StartedExec:
        self.began.append(argv)
        return StartedExec(id="x", stream=AttachedStream(self.ours))


@pytest.fixture
def container() -> Iterator[_Container]:
    created = _Container()
    with created.ours, created.engines:
        yield created


def _by_tls() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection under TLS."""
    ca = trustme.CA()
    server, client = (
        ssl.SSLContext(kind) for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)
    )
    ca.issue_cert("engine").configure_cert(server)
    ca.configure_trust(client)
    ours, engines = socket.socketpair()
    shaken: list[socket.socket] = []
    shaking = threading.Thread(
        target=lambda: shaken.append(server.wrap_socket(engines, server_side=True))
    )
    shaking.start()
    wrapped = client.wrap_socket(ours, server_hostname="engine")
    shaking.join()
    return wrapped, shaken[0]


@contextmanager
def attended(container: _Container) -> Iterator[socket.socket]:
    """The harness's end of the program's streams."""
    held: list[socket.socket] = []

    @contextmanager
    def attend(stream: socket.socket) -> Iterator[None]:
        stream.settimeout(PUMP_SECONDS)
        held.append(stream)
        yield

    with running_sidecar(container, Sidecar(argv=("x",), attend=attend)):  # type: ignore[arg-type]
        yield held[0]


def read(connection: socket.socket, size: int) -> bytes:
    with connection.makefile("rb") as reading:
        return reading.read(size)


def test_sidecar_bytes_pass_in_both_directions_at_once(container: _Container) -> None:
    with attended(container) as stream:
        writers = [
            threading.Thread(target=container.engines.sendall, args=(frame(1, BIG),)),
            threading.Thread(target=stream.sendall, args=(BIG,)),
        ]
        heard: list[bytes] = []
        reader = threading.Thread(target=lambda: heard.append(read(container.engines, len(BIG))))
        for thread in (*writers, reader):
            thread.start()
        assert read(stream, len(BIG)) == BIG
        for thread in (*writers, reader):
            thread.join()
    assert heard == [BIG]
    assert container.began == [["x"]]


def test_sidecar_bytes_pass_completely_over_tls() -> None:
    container = _Container(_by_tls())
    with container.ours, container.engines, attended(container) as stream:
        sending = threading.Thread(target=stream.sendall, args=(BIG,))
        sending.start()
        assert read(container.engines, len(BIG)) == BIG
        sending.join()
        sending = threading.Thread(target=container.engines.sendall, args=(frame(1, BIG),))
        sending.start()
        assert read(stream, len(BIG)) == BIG
        sending.join()


def test_stderr_of_a_sidecar_is_dropped(container: _Container) -> None:
    with attended(container) as stream:
        container.engines.sendall(frame(1, b"a") + frame(2, b"oh") + frame(1, b"b"))
        assert read(stream, 2) == b"ab"


def test_unread_sidecar_bytes_are_bounded(container: _Container) -> None:
    with attended(container):
        assert _sent_until_nothing_goes(container.engines, at_most=16 << 20) < 16 << 20


def _sent_until_nothing_goes(connection: socket.socket, *, at_most: int) -> int:
    connection.settimeout(0.5)  # too little for a slow pump only means that less is sent
    sent = 0
    with suppress(TimeoutError):
        while sent < at_most:
            sent += connection.send(frame(1, b"x" * 65536))
    return sent


def test_end_of_the_engine_stream_follows_the_rest(container: _Container) -> None:
    with attended(container) as stream:
        container.engines.sendall(frame(1, b"last"))
        container.engines.shutdown(socket.SHUT_RDWR)
        assert stream.recv(100) == b"last"
        assert stream.recv(100) == b""


def test_sidecar_ends_with_its_peer(container: _Container) -> None:
    with attended(container) as stream:
        stream.shutdown(socket.SHUT_RDWR)
        assert container.engines.recv(1) == b""


def test_sidecar_ends_with_its_command(container: _Container) -> None:
    with attended(container):
        pass
    assert container.engines.recv(1) == b""
    assert "agentbench-sidecar" not in {thread.name for thread in threading.enumerate()}


FORK_FOR_EVER = """
import os
os.write(1, b"begun")
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
RISE_AGAIN = """
import os, time
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    with open("beat", "a") as beat:
        beat.write(".")
"""
FLOOD = "import os; block = b'x' * (1 << 20)\nfor _ in range(200): os.write(1, block)"


@pytest.fixture
def fresh(provider: DockerProvider, image: ImageId) -> Iterator[Sandbox]:
    with provider.open(image, limits=LIMITS, network=False) as opened:
        yield opened


@pytest.mark.docker
def test_a_fork_bomb_that_does_not_stop_is_ended(fresh: Sandbox) -> None:
    result = run_into_limit(fresh, "python", "-c", FORK_FOR_EVER, begun="begun")
    assert result.ending is Ending.TIMED_OUT
    assert sh(fresh, "echo fine").stdout == "fine\n"


@pytest.mark.docker
def test_a_daemon_that_rises_again_under_new_numbers_is_ended(fresh: Sandbox) -> None:
    until_it_beats = "while not os.path.exists('beat'): pass"
    script = f"import os\nif os.fork() == 0:\n{_indented(RISE_AGAIN)}\n{until_it_beats}"
    assert python(fresh, script).ok
    first = sh(fresh, "cat beat | wc -c").stdout
    assert sh(fresh, "cat beat | wc -c").stdout == first


@pytest.mark.docker
def test_a_flood_of_output_is_drained_and_counted(fresh: Sandbox) -> None:
    command = Command(argv=("python", "-c", FLOOD), timeout=PATIENCE, output_cap=1 << 16)
    result = fresh.run(command)
    assert result.ok
    assert result.output_bytes == 200 << 20
    assert len(result.stdout) < (1 << 16) + 100


@pytest.mark.docker
def test_a_flood_does_not_put_off_the_deadline(fresh: Sandbox) -> None:
    flood = "while :; do echo yyyyyyyyyyyyyyyyyyyy; done"
    result = run_into_limit(fresh, "sh", "-c", flood, begun="yyy")
    assert result.ending is Ending.TIMED_OUT


@pytest.mark.docker
def test_command_that_kills_all_processes_is_killed(fresh: Sandbox) -> None:
    result = sh(fresh, "echo before; kill -9 -1")
    assert (result.ending, result.signal) == (Ending.KILLED, 9)
    assert result.stdout == "before\n"
    assert sh(fresh, "echo fine").stdout == "fine\n"


@pytest.mark.docker
def test_a_command_that_forges_the_mark_hurts_only_itself(fresh: Sandbox) -> None:
    forge = r"""
mark=$(tr '\0' '\n' < /proc/$PPID/cmdline | grep -E '^[0-9a-f]{16}$')
printf '\0%s:000\n' "$mark"; printf '\0%s:000\n' "$mark" >&2
sleep 1000
"""
    assert sh(fresh, forge).ending is Ending.EXITED
    assert sh(fresh, "echo fine").stdout == "fine\n"


@pytest.mark.docker
def test_a_command_that_stops_its_shell_is_ended_at_the_deadline(fresh: Sandbox) -> None:
    stop = "import os, signal; os.kill(os.getppid(), signal.SIGSTOP); print('stopped')"
    result = run_into_limit(fresh, "python", "-c", stop, begun="stopped")
    assert result.ending is Ending.TIMED_OUT
    assert sh(fresh, "echo fine").stdout == "fine\n"


@pytest.mark.docker
def test_a_full_disk_of_temporary_files_is_an_ordinary_failure(fresh: Sandbox) -> None:
    filled = sh(fresh, "head -c 2000000000 /dev/zero > /tmp/big")
    assert not filled.ok
    assert sh(fresh, "rm /tmp/big; echo fine").stdout == "fine\n"


@pytest.mark.docker
def test_a_file_beyond_the_disk_limit_is_not_written(
    provider: DockerProvider, image: ImageId
) -> None:
    limits = replace(LIMITS, disk_mib=8)
    with provider.open(image, limits=limits, network=False) as sandbox:
        # A hole takes no room, so the watch over all that is held has no say in this.
        assert not sh(sandbox, "dd if=/dev/zero of=big bs=1M seek=6 count=3").ok
        assert int(sh(sandbox, "wc -c < big").stdout) == 8 << 20


@pytest.mark.docker
def test_argument_above_the_kernel_limit_exits_126(fresh: Sandbox) -> None:
    result = fresh.run(Command(argv=("echo", "x" * 200_000), timeout=PATIENCE))
    assert (result.ending, result.exit_code) == (Ending.EXITED, 126)
    assert "too long" in result.stderr


@pytest.mark.docker
def test_names_that_the_shell_uses_itself_arrive_unchanged(fresh: Sandbox) -> None:
    given = {"ENV": "/etc/profile", "size": "1", "folder": "/", "go": "now"}
    script = "import os, sys; print([os.environ.get(name) for name in sys.argv[1:]])"
    argv = ("python", "-c", script, *given)
    result = fresh.run(Command(argv=argv, env=given, timeout=PATIENCE))
    assert result.stdout == f"{list(given.values())}\n"


@pytest.mark.docker
def test_memory_and_processor_use_are_reported(fresh: Sandbox) -> None:
    eat = "x = bytearray(100 << 20); x[::4096] = b'x' * len(x[::4096])"
    result = python(fresh, f"{eat}; import time; print(time.process_time())")
    assert result.peak_memory_bytes is not None
    assert result.peak_memory_bytes > 100 << 20
    assert result.cpu_seconds is not None
    spent = float(result.stdout)
    assert spent <= result.cpu_seconds < 100 * spent  # its shell and the engine spend some too
    assert sh(fresh, "true").peak_memory_bytes is None, "lower than before: not known"


@pytest.mark.docker
def test_a_sink_that_fails_ends_the_command(fresh: Sandbox) -> None:
    def fail(_stream: object, _data: bytes) -> None:
        raise ZeroDivisionError

    command = Command(argv=("sh", "-c", "echo x; sleep 1000"), timeout=PATIENCE, sink=fail)
    with pytest.raises(ZeroDivisionError):
        fresh.run(command)
    assert sh(fresh, "cat /proc/[0-9]*/comm | grep -c sleep").stdout == "0\n"


@pytest.mark.docker
def test_commands_of_several_threads_wait_for_each_other(fresh: Sandbox) -> None:
    script = "mkdir only && echo alone; sleep 0.1; rmdir only"
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: sh(fresh, script), range(4)))
    assert [result.stdout for result in results] == ["alone\n"] * 4


@pytest.mark.docker
def test_links_that_change_while_a_tree_is_read_stay_inside(
    provider: DockerProvider, image: ImageId
) -> None:
    race = r"""
mkdir real && echo inside > real/passwd
while :; do rm -rf seen; cp -r real seen; rm -rf seen; ln -s /etc seen; done
"""
    with (
        ThreadPoolExecutor(1) as pool,
        provider.open(image, limits=LIMITS, network=False) as sandbox,
    ):
        running = pool.submit(sh, sandbox, race)
        for _ in range(10):
            assert "root:" not in "".join(_contents(sandbox, sandbox.workspace))
        sandbox.kill()
        with pytest.raises(SandboxError):
            running.result()


@pytest.mark.docker
def test_a_sandbox_that_is_removed_under_load_is_an_error_of_the_sandbox(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    command = Command(
        argv=("sh", "-c", "echo up; while :; do echo x > f; done"),
        timeout=PATIENCE,
        sink=lambda _stream, _data: _remove_all(engine),
    )
    with (
        pytest.raises(SandboxError),
        provider.open(image, limits=LIMITS, network=False) as sandbox,
    ):
        sandbox.run(command)


def _remove_all(engine: Engine) -> None:
    for found in containers_in(engine):
        with engine.api("remove a container from outside") as api:
            api.remove_container(found, v=True, force=True)


def _contents(sandbox: Sandbox, path: PurePosixPath) -> Iterator[str]:
    with sandbox.read_tree(path) as stream:
        data = b"".join(stream)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for member in tar:
            if member.isreg() and (file := tar.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace")


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
