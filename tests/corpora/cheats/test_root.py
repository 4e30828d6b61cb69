"""An agent that is root of its container reaches nothing beyond it."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.models.gateway.relay import ENDPOINT_MOUNT, endpoint_mounts
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SandboxUse,
)
from agentbench.tasks.users import ROOT_USER
from tests.fakes.scripted_model import Say, ScriptedModel, for_ever
from tests.models.gateway.endpoint_clients import endpoint_to
from tests.patience import HANG_SECONDS
from tests.sandbox import docker_fixtures
from tests.sandbox.docker_fixtures import bridge_of

engine = docker_fixtures.engine
image = docker_fixtures.image
provider = docker_fixtures.provider

ATTACKS = Path(__file__).with_name("root_attacks.py")
KEY, FILE_SECRET, NEIGHBOURS_SECRET = (f"secret-{name}-4711" for name in ("key", "file", "other"))
AS_ROOT = SandboxUse(lasting=True)
LIMITS = Limits(user=ROOT_USER)
PORT = 8321
PUBLIC = "public"  # a key of the outcomes in such a network
SERVER = f"exec python -m http.server {PORT}"

DENIED = {"EPERM", "EACCES", "EROFS"}
GONE = {"ENOENT", "ESRCH", "ENODATA"}
CLOSED = {"ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "TimeoutError", "ETIMEDOUT"}
EXPECTED: Mapping[str, set[str]] = {
    "mounts_a_file_system": DENIED,
    "mounts_the_control_groups_for_a_release_agent": DENIED,
    "mounts_the_processes_of_the_kernel": DENIED,
    "makes_the_mounts_of_the_harness_writable": DENIED,
    "writes_to_a_mount_of_the_harness": DENIED,
    "reads_the_disk_of_the_host": DENIED,
    "reads_the_memory_of_the_host": DENIED,
    "reads_the_log_of_the_kernel_by_its_device": DENIED,
    "reads_the_log_of_the_kernel": DENIED,
    "has_the_kernel_run_a_program_at_a_crash": DENIED,
    "has_the_kernel_run_a_program_for_a_device": DENIED | GONE,
    "asks_the_kernel_for_a_crash": DENIED | GONE,
    "lifts_its_memory_limit": DENIED,
    "makes_a_user_namespace": DENIED,
    "makes_a_mount_namespace": DENIED,
    "joins_the_namespaces_of_the_first_process": DENIED,
    "opens_files_of_the_host_by_their_number": DENIED,
    "loads_a_module": DENIED,
    "restarts_the_machine": DENIED,
    "sets_the_clock": DENIED,
    "changes_the_name_of_the_machine": DENIED,
    "adds_swap": DENIED,
    "loads_a_program_into_the_kernel": DENIED,
    "watches_the_processor": DENIED,
    "stores_a_key_in_the_kernel": DENIED,
    "takes_the_ports_of_the_processor": DENIED,
    "changes_the_root": DENIED,
    "takes_all_capabilities": DENIED,
    "takes_the_network_down": DENIED,
    "sends_packets_of_its_own_make": DENIED,
    "lifts_its_limit_on_files": DENIED,
    "signals_the_harness": GONE,
    "looks_into_the_memory_of_the_harness": GONE | DENIED,
    "reads_a_file_of_the_host": GONE,
    "reads_a_file_of_the_host_through_the_first_process": GONE | DENIED,
    "reads_a_file_of_the_host_from_another_root": GONE | DENIED,
    "reads_the_memory_of_the_kernel_as_a_file": GONE | DENIED,
    "reads_the_keys_of_the_kernel": GONE | DENIED,
    "asks_the_engine_by_its_socket": GONE,
    "asks_the_engine_by_its_port": CLOSED,
    "asks_a_server_on_the_hosts_loopback": CLOSED,
    "asks_a_server_of_the_host_at_the_bridge": CLOSED,  # without a network
    "asks_a_server_of_another_attempt": CLOSED,
    "asks_the_models_endpoint_for_its_key": GONE,
    "finds_the_secret_among_the_processes": GONE,
    "finds_the_secret_among_the_files": GONE,
}


def run(sandbox: Sandbox, script: str, stdin: bytes = b"") -> str:
    """What a script of root prints."""
    command = Command(
        argv=("sh", "-c", script), stdin=stdin, timeout=timedelta(seconds=HANG_SECONDS)
    )
    result = sandbox.run(command)
    assert result.ok, result.stderr
    return result.stdout


@contextmanager
def listening() -> Iterator[int]:
    """A server of this machine at all of its addresses."""
    with socket.create_server(("0.0.0.0", 0)) as server:

        def accept() -> None:
            """Accept connections until the server is closed."""
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


@pytest.fixture(scope="module", params=["none", "public"])
def outcomes(
    request: pytest.FixtureRequest,
    provider: DockerProvider,
    image: ImageId,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, str]:
    """What came of each attack, by its name, beside another attempt of the same kind."""
    network, folder = request.param == "public", tmp_path_factory.mktemp("host")
    (folder / "mounted").mkdir()
    (folder / "secret").write_text(FILE_SECRET)
    disk = Path("/").stat().st_dev
    mount = ReadOnlyMount(name="mounted", source=folder / "mounted")
    with ExitStack() as stack:
        port = stack.enter_context(listening())
        model = stack.enter_context(ScriptedModel(for_ever(Say("hi")), key=KEY, echo_key=True))
        door = stack.enter_context(endpoint_to(model, folder / "exchange.jsonl"))
        mounts = (mount, *endpoint_mounts(door))
        neighbour, attacker = (
            stack.enter_context(
                provider.open(image, limits=LIMITS, network=network, mounts=mounts, use=AS_ROOT)
            )
            for _ in range(2)
        )
        run(neighbour, f"echo {NEIGHBOURS_SECRET} > /workspace/secret")
        run(neighbour, f"SECRET={NEIGHBOURS_SECRET} sh -c '{SERVER} > /dev/null 2>&1 &'")
        bridge = bridge_of(provider.engine)
        targets = {
            "mount": str(attacker.mounted("mounted")),
            "file": str(folder / "secret"),
            "disk": [os.major(disk), os.minor(disk)],
            "pid": os.getpid(),
            "socket": (provider.engine.address.url or "").removeprefix("unix://"),
            "bridge": bridge,
            "port": port,
            "neighbour": (run(neighbour, "hostname -I").split() or [bridge])[0],
            "neighbours_port": PORT,
            # Reversed, since the attacker gets this text.
            "door": str(attacker.mounted(ENDPOINT_MOUNT) / door.socket.name),
            "token": door.token,
            "model": door.model,
            "secrets": [secret[::-1] for secret in (KEY, FILE_SECRET, NEIGHBOURS_SECRET)],
        }
        run(attacker, "cat > /tmp/attacks.py", ATTACKS.read_bytes())
        found = run(attacker, "python /tmp/attacks.py", json.dumps(targets).encode())
        outcomes: dict[str, str] = json.loads(found.splitlines()[-1])
        return {**outcomes, **({PUBLIC: ""} if network else {})}


@pytest.mark.parametrize("name", EXPECTED)
def test_root_of_a_container_reaches_nothing_beyond_it(outcomes, name):
    if name == "asks_a_server_of_the_host_at_the_bridge" and PUBLIC in outcomes:
        # A public network has this machine, too: what listens at all of its addresses is reached.
        assert outcomes[name].startswith("ESCAPED 'connected to")
    else:
        assert outcomes[name] in EXPECTED[name]


def test_every_attack_is_expected_to_fail(outcomes):
    assert outcomes.keys() - {PUBLIC} == EXPECTED.keys()
