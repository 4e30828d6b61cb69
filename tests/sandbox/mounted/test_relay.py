"""The relay by itself, on this machine: what runs behind it does not notice it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agentbench import sandbox
from tests.models.gateway.unix_endpoint import UnixEndpoint, echo, flood, reset, unix_endpoint

RELAY = Path(sandbox.__file__).parent / "mounted" / "relay.py"
PATIENCE = 60  # seconds
PLACEHOLDER = "{agentbench-endpoint}"
CONNECT = """
import os, socket, sys
address = os.environ["AGENTBENCH_MODEL_URL"].removeprefix("http://").split(":")
connect = lambda: socket.create_connection((address[0], int(address[1])), timeout=60)
def all_of(connection):
    return b"".join(iter(lambda: connection.recv(65536), b""))
"""


@pytest.fixture
def door(tmp_path: Path) -> Iterator[UnixEndpoint]:
    with unix_endpoint(tmp_path / "door", echo) as opened:
        yield opened


def argv(door: UnixEndpoint, *command: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(RELAY), str(door.socket), PLACEHOLDER, "--", *command]


def relayed(door: UnixEndpoint, *command: str, **options) -> subprocess.CompletedProcess[bytes]:
    options["env"] = {**options.get("env", os.environ), "AGENTBENCH_MODEL_URL": PLACEHOLDER}
    return subprocess.run(
        argv(door, *command), capture_output=True, timeout=PATIENCE, check=False, **options
    )


def python(door: UnixEndpoint, script: str, *args: str) -> str:
    done = relayed(door, sys.executable, "-c", CONNECT + script, *args)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_relay_exits_as_its_command(door: UnixEndpoint, code: int) -> None:
    assert relayed(door, "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGINT"])
def test_relay_ends_by_the_signal_of_its_command(door: UnixEndpoint, name: str) -> None:
    number = signal.Signals[name]
    assert relayed(door, "sh", "-c", f"kill -{number.value} $$").returncode == -number


def test_a_signal_reaches_the_command(door: UnixEndpoint) -> None:
    script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do read line; done"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv(door, "sh", "-c", script), **pipes) as relay:
        assert relay.stdout.readline() == b"ready\n"
        relay.send_signal(signal.SIGTERM)
        relay.stdin.close()
        assert relay.stdout.read() == b"caught\n"
    assert relay.returncode == 3


def test_missing_command_exits_as_in_a_shell(door: UnixEndpoint, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    missing = relayed(door, "/no/such/program")
    assert (missing.returncode, b"/no/such/program" in missing.stderr) == (127, True)
    assert relayed(door, str(tmp_path / "data")).returncode == 126


def test_streams_pass_through_as_they_are(door: UnixEndpoint) -> None:
    data = os.urandom(1 << 20)
    done = relayed(door, "sh", "-c", "cat; echo said >&2", input=data)
    assert (done.stdout, done.stderr) == (data, b"said\n")


def test_address_replaces_the_placeholder_in_all_variables(door: UnixEndpoint) -> None:
    env = {
        **os.environ,
        "BASE": "{agentbench-endpoint}/v1",
        "JSON": '{"a": "{agentbench-endpoint}"}',
    }
    script = 'echo "$AGENTBENCH_MODEL_URL $BASE $JSON"'
    url, base, json = relayed(door, "sh", "-c", script, env=env).stdout.decode().split(" ", 2)
    assert url.startswith("http://127.0.0.1:")
    assert (base, json) == (f"{url}/v1", f'{{"a": "{url}"}}\n')


def test_the_command_inherits_no_open_file(door: UnixEndpoint) -> None:
    assert relayed(door, "sh", "-c", "ls /proc/$$/fd").stdout.split() == [b"0", b"1", b"2"]


def test_each_direction_ends_separately(door: UnixEndpoint) -> None:
    described = python(
        door,
        """
import threading
with connect() as connection:
    sender = threading.Thread(target=lambda: (
        connection.sendall(b"a" * 3_000_000), connection.shutdown(socket.SHUT_WR)))
    sender.start()
    said = all_of(connection)
    sender.join()
print(len(said), said[-3:])
""",
    )
    assert described == "3000003 b'end'\n"


def test_two_hundred_connections_at_a_time_do_not_mix(door: UnixEndpoint) -> None:
    described = python(
        door,
        """
open_ones = [connect() for _ in range(200)]
for number, connection in enumerate(open_ones):
    connection.sendall(str(number).encode())
    connection.shutdown(socket.SHUT_WR)
print(all(all_of(c) == f"{n}end".encode() for n, c in enumerate(open_ones)))
for connection in open_ones:
    connection.close()
""",
    )
    assert described == "True\n"


def test_connection_after_a_broken_one_works(tmp_path: Path) -> None:
    with unix_endpoint(tmp_path / "door", reset) as door:
        described = python(
            door,
            """
for _ in range(3):
    with connect() as connection:
        connection.sendall(b"hello")
        try:
            print(all_of(connection))
        except ConnectionResetError:
            print("reset")
""",
        )
    assert set(described.split("\n")) <= {"b''", "reset", ""}
    assert len(described.split()) == 3


def test_end_of_a_client_ends_the_far_connection(tmp_path: Path) -> None:
    with unix_endpoint(tmp_path / "door", flood) as door:  # waits for its connections to end
        described = python(door, "connection = connect()\nprint(len(connection.recv(9)))")
    assert described == "9\n"


def test_missing_socket_ends_connections(tmp_path: Path) -> None:
    described = python(
        UnixEndpoint(tmp_path / "nothing.sock"),
        """
with connect() as connection:
    try:
        print(all_of(connection))
    except ConnectionResetError:
        print("reset")
""",
    )
    assert described.strip() in {"b''", "reset"}


def test_detached_relay_forwards_the_printed_port(
    door: UnixEndpoint,
) -> None:
    argv = [sys.executable, "-I", "-S", str(RELAY), str(door.socket), "--detach"]
    started = subprocess.run(argv, capture_output=True, timeout=PATIENCE, check=True)
    port = int(started.stdout)  # its streams have ended, so nobody waits for the process
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(b"hello")
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            assert answer.read() == b"helloend"
    left = _pids_of(RELAY, door.socket)
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)


def _pids_of(*words: Path) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            words_of = (folder / "cmdline").read_bytes().split(b"\0")
            if folder.name.isdigit() and all(str(word).encode() in words_of for word in words):
                found.append(int(folder.name))
    return found
