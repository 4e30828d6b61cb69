"""A command in a sandbox without a network reaches its endpoint, and nothing else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath

import pytest

from agentbench.models.gateway.relay import endpoint_mounts, model_environment, relayed_command
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Command, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult, Ending
from tests.fakes.scripted_model import Say, ScriptedModel, Tokens, for_ever
from tests.models.gateway.endpoint_clients import endpoint_to
from tests.models.gateway.unix_endpoint import UnixEndpoint, echo, unix_endpoint
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.full

WALLED = [
    "bubblewrap",
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("elsewhere", marks=pytest.mark.docker),
]
EVERYWHERE = [*WALLED, "process"]
# Relays that are mounted run alike, an engine elsewhere has carriers: the gate tries one of each
# where no back end is the point. A model is asked on all of them.
SOME = [
    "bubblewrap",
    pytest.param("elsewhere", marks=pytest.mark.docker),
    pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.soak]),
]
SOME_OR_UNWALLED = [*SOME, pytest.param("process", marks=pytest.mark.soak)]
LIMITS = Limits(memory_mib=512, pids=64, disk_mib=512)
MANY = """
import asyncio, os
host, port = os.environ["AGENTBENCH_MODEL_URL"].removeprefix("http://").split(":")
async def one(number):
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(str(number).encode() * 1000)
    writer.write_eof()
    said = await reader.read()
    writer.close()
    return said == str(number).encode() * 1000 + b"end"
async def main():
    return await asyncio.gather(*(one(number) for number in range(200)))
print(all(asyncio.run(main())))
"""
ELSEWHERE = """
import os, socket
endpoint = int(os.environ["AGENTBENCH_MODEL_URL"].rpartition(":")[2])
def reached(address):
    try:
        with socket.create_connection(address, timeout=60) as connection:
            return connection.getpeername() != connection.getsockname()  # else it met itself
    except OSError:
        return False
listening = [port for port in range(1, 65536) if reached(("127.0.0.1", port))]
print(listening == [endpoint], [address for address in (("10.0.0.1", 80), ("172.17.0.1", 80),
    ("1.1.1.1", 443), ("example.org", 443)) if reached(address)])
print(sorted(os.listdir(os.environ["ENDPOINT"])))
"""

FIND = """
import os
def is_carrier(pid):
    try:
        argv = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
        return argv[3].endswith(b"/agentbench-tunnel.py")
    except (OSError, IndexError):
        return False
(carrier,) = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_carrier(pid)]
"""
ONE = """
import os, socket, sys
host, port = os.environ["AGENTBENCH_MODEL_URL"].removeprefix("http://").split(":")
with socket.create_connection((host, int(port)), timeout=60) as connection:
    try:
        connection.sendall(b"x")
        print("somebody" if connection.recv(1) else "nobody")
    except ConnectionError:
        print("nobody")
sys.exit(7)
"""
MEGABYTES = """
import os, socket, threading
host, port = os.environ["AGENTBENCH_MODEL_URL"].removeprefix("http://").split(":")
data = os.urandom(8 << 20)
with socket.create_connection((host, int(port)), timeout=60) as connection:
    sending = threading.Thread(
        target=lambda: (connection.sendall(data), connection.shutdown(socket.SHUT_WR)))
    sending.start()
    print(b"".join(iter(lambda: connection.recv(1 << 16), b"")) == data + b"end")
"""
CLIENT = """
import json, os, urllib.request
body = {"model": os.environ["AGENTBENCH_MODEL"], "messages": []}
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
asked = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
with urllib.request.urlopen(asked, timeout=60) as answer:
    said = json.load(answer)
    print(answer.status, said["choices"][0]["message"]["content"])
"""


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[UnixEndpoint]:
    with unix_endpoint(tmp_path / "endpoint", echo) as opened:
        yield opened


@pytest.fixture
def back_end(request: pytest.FixtureRequest) -> SandboxProvider:
    provider: SandboxProvider = request.getfixturevalue(request.param)
    return provider


@contextmanager
def opened(back_end: SandboxProvider, endpoint: ModelEndpoint) -> Iterator[Sandbox]:
    named = back_end.resolve_image(None)
    mounts = endpoint_mounts(endpoint)
    with back_end.open(named, limits=LIMITS, network=False, mounts=mounts) as sandbox:
        yield sandbox


def run(sandbox: Sandbox, endpoint: ModelEndpoint, *argv: str, **more) -> CommandResult:
    command = Command(argv=argv, timeout=timedelta(seconds=10 * HANG_SECONDS), **more)
    return sandbox.run(relayed_command(command, sandbox, endpoint))


# Beside a carrier they are many, too, where an agent kills it.
@pytest.mark.parametrize(
    "back_end",
    [
        "bubblewrap",
        pytest.param("process", marks=pytest.mark.soak),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.soak]),
        pytest.param("elsewhere", marks=[pytest.mark.docker, pytest.mark.soak]),
    ],
    indirect=True,
)
def test_two_hundred_connections_reach_the_endpoint(
    back_end: SandboxProvider, endpoint: UnixEndpoint
) -> None:
    with opened(back_end, endpoint) as sandbox:
        result = run(sandbox, endpoint, "python", "-c", MANY)
    assert (result.stdout, result.stderr) == ("True\n", "")


@pytest.mark.parametrize("back_end", SOME, indirect=True)
def test_only_the_endpoint_is_reachable(back_end: SandboxProvider, endpoint: UnixEndpoint) -> None:
    with opened(back_end, endpoint) as sandbox:
        folder = _door_folder(sandbox)
        result = run(
            sandbox, endpoint, "python", "-c", ELSEWHERE, env={"ENDPOINT": str(folder or "/tmp")}
        )
    name = endpoint.socket.name if folder is not None else "agentbench-endpoint.sock"
    assert result.stdout == f"True []\n['{name}']\n", result.stderr


def _door_folder(sandbox: Sandbox) -> PurePosixPath | None:
    with suppress(KeyError):
        return sandbox.mounted("agentbench-endpoint")
    return None


@pytest.mark.parametrize("back_end", SOME_OR_UNWALLED, indirect=True)
def test_relay_keeps_ending_of_command(back_end: SandboxProvider, endpoint: UnixEndpoint) -> None:
    with opened(back_end, endpoint) as sandbox:
        reported = run(sandbox, endpoint, "sh", "-c", "cat; echo err >&2; exit 5", stdin=b"told")
        killed = run(sandbox, endpoint, "sh", "-c", "kill -9 $$")
        alone = sandbox.run(
            Command(argv=("sh", "-c", "kill -9 $$"), timeout=timedelta(seconds=600))
        )
        missing = run(sandbox, endpoint, "no-such-program")
        late = Command(argv=("sleep", "600"), timeout=timedelta(seconds=2))
        cut_off = sandbox.run(relayed_command(late, sandbox, endpoint))

    assert (reported.exit_code, reported.stdout, reported.stderr) == (5, "told", "err\n")
    assert (killed.ending, killed.signal) == (alone.ending, alone.signal)
    assert missing.exit_code == 127
    assert cut_off.ending is Ending.TIMED_OUT


@pytest.mark.parametrize("back_end", SOME_OR_UNWALLED, indirect=True)
def test_clients_get_address_of_relay(back_end: SandboxProvider, endpoint: UnixEndpoint) -> None:
    with opened(back_end, endpoint) as sandbox:
        own = {"OPENAI_API_KEY": "mine", "PLACE": "{agentbench-endpoint}/x"}
        result = run(sandbox, endpoint, "env", env=own)
    env = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    url = env["AGENTBENCH_MODEL_URL"]
    assert env["OPENAI_BASE_URL"] == env["OPENAI_API_BASE"] == f"{url}/v1"
    assert env["ANTHROPIC_BASE_URL"] == env["GOOGLE_GEMINI_BASE_URL"] == url
    assert env["ANTHROPIC_API_KEY"] == env["GEMINI_API_KEY"] == endpoint.token
    assert (env["OPENAI_API_KEY"], env["PLACE"]) == ("mine", f"{url}/x")
    assert env["AGENTBENCH_MODEL"] == endpoint.model


def test_real_address_is_not_shown(tmp_path: Path) -> None:
    message = model_environment(UnixEndpoint(tmp_path / "gateway.sock"))
    assert not any(str(tmp_path) in value for value in message.values())


@pytest.mark.parametrize("back_end", EVERYWHERE, indirect=True)
def test_model_answers_in_sandbox_without_its_key(
    back_end: SandboxProvider, tmp_path: Path
) -> None:
    with (
        ScriptedModel(for_ever(Say("good day", Tokens(30, 4)))) as model,
        endpoint_to(model, tmp_path / "llm.jsonl") as endpoint,
        opened(back_end, endpoint) as sandbox,
    ):
        result = run(sandbox, endpoint, "python", "-c", CLIENT)
        found = run(sandbox, endpoint, "sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline; id")
        facts = endpoint.traffic()
    assert result.stdout == "200 good day\n", result.stderr
    assert (facts.usage.input_tokens, facts.usage.output_tokens) == (30, 4)
    assert model.key not in found.stdout
    assert endpoint.token in found.stdout


@pytest.fixture
def far(elsewhere: SandboxProvider, endpoint: UnixEndpoint) -> Iterator[Sandbox]:
    """A sandbox whose endpoint is carried by the engine's own connection."""
    with opened(elsewhere, endpoint) as sandbox:
        assert _door_folder(sandbox) is None
        yield sandbox


@pytest.mark.docker
def test_killing_the_multiplexer_only_cuts_off_the_model(
    far: Sandbox, endpoint: UnixEndpoint
) -> None:
    before = run(far, endpoint, "python", "-c", MANY)
    cut = run(far, endpoint, "python", "-c", FIND + "os.kill(carrier, 9)" + ONE)
    after = run(far, endpoint, "python", "-c", MANY)
    assert before.stdout == after.stdout == "True\n"
    assert (cut.stdout, cut.exit_code) == ("nobody\n", 7)


@pytest.mark.docker
def test_forged_frames_of_agent_are_ignored(far: Sandbox, endpoint: UnixEndpoint) -> None:
    speak = "open(f'/proc/{carrier}/fd/1', 'wb').write(b'rubbish' * 99)"
    reported = run(far, endpoint, "python", "-c", FIND + speak + ONE)
    assert (reported.stdout, reported.exit_code) == ("nobody\n", 7), reported.stderr


@pytest.mark.docker
def test_multiplexer_ends_with_its_command(far: Sandbox, endpoint: UnixEndpoint) -> None:
    for _ in range(3):
        assert run(far, endpoint, "true").ok
    found = far.run(
        Command(argv=("sh", "-c", "cat /proc/*/cmdline"), timeout=timedelta(minutes=10))
    )
    assert "agentbench-tunnel" not in found.stdout
    assert [each.name for each in threading.enumerate() if each.name == "agentbench-sidecar"] == []


@pytest.mark.docker
def test_megabytes_pass_in_both_directions(far: Sandbox, endpoint: UnixEndpoint) -> None:
    result = run(far, endpoint, "python", "-c", MEGABYTES)
    assert result.stdout == "True\n", result.stderr
