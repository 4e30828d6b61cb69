"""Commands in real sandboxes reach the hosts of their list, and no others, stage by stage."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.core.network import Network
from agentbench.errors import SandboxError, UnavailableError
from agentbench.models.gateway.relay import endpoint_mounts, relayed_command
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.egress.plan import NetworkPlan, check_networks, open_with_network
from agentbench.sandbox.interface import (
    Command,
    LastingSandbox,
    Limits,
    LogsNetwork,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
    SandboxUse,
)
from agentbench.sandbox.process.provider import ProcessProvider
from tests.models.gateway.unix_endpoint import echo, unix_endpoint
from tests.patience import HANG_SECONDS
from tests.sandbox.compose_services import PORT, STORE, services_in
from tests.sandbox.conformance_isolation import connects, listening
from tests.sandbox.docker_fixtures import bridge_of
from tests.sandbox.egress.proxy_client import WebServer

pytestmark = pytest.mark.full

LIMITS = Limits(memory_mib=512, pids=64, disk_mib=512)
EVERYWHERE = [
    "bubblewrap",
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("elsewhere", marks=pytest.mark.docker),
]
ASK = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            print(answer.status)
    except OSError as error:
        print(getattr(error, "code", "nothing"))
"""
# Asks in the background, as soon as a file appears, and again and again.
SERVE = """
import os, sys, time, urllib.request
while True:
    for number in range(99):
        if os.path.exists(f"/tmp/ask{number}"):
            try:
                with urllib.request.urlopen(sys.argv[1], timeout=60) as answer:
                    said = answer.status
            except OSError as error:
                said = getattr(error, "code", "nothing")
            os.unlink(f"/tmp/ask{number}")
            open(f"/tmp/said{number}.new", "w").write(f"{said}")
            os.rename(f"/tmp/said{number}.new", f"/tmp/said{number}")
    time.sleep(0.05)
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer().running() as server:
        yield server


@pytest.fixture
def back_end(request: pytest.FixtureRequest) -> SandboxProvider:
    provider: SandboxProvider = request.getfixturevalue(request.param)
    return provider


@contextmanager
def opened(
    provider: SandboxProvider,
    first: Network,
    *later: Network,
    image: str | None = None,
    use: SandboxUse | None = None,
    more: Sequence[ReadOnlyMount] = (),
) -> Iterator[Sandbox]:
    plan = NetworkPlan(first=first, later=later)
    given = use or SandboxUse(lasting=bool(later))

    def open_with(mounts: Sequence[ReadOnlyMount]):
        return provider.open(
            provider.resolve_image(image),
            limits=LIMITS,
            network=first is True,
            mounts=[*dict.fromkeys((*more, *mounts))],
            use=SandboxUse(
                lasting=given.lasting, changes_network=plan.changes, services=given.services
            ),
        )

    with open_with_network(open_with, plan, lasting=given.lasting) as sandbox:
        yield sandbox


def run(sandbox: Sandbox, *argv: str, **more) -> str:
    command = Command(argv=argv, timeout=timedelta(seconds=10 * HANG_SECONDS), **more)
    result = sandbox.run(command)
    assert result.argv == argv
    return result.stdout + result.stderr


def ask(sandbox: Sandbox, *urls: str) -> list[str]:
    return run(sandbox, "python3", "-c", ASK, *urls).split()


def logged(sandbox: Sandbox) -> list[tuple[str, bool]]:
    assert isinstance(sandbox, LogsNetwork)
    lines = map(json.loads, sandbox.take_network_log().splitlines())
    return [(each["host"], each["allowed"]) for each in lines]


@pytest.mark.parametrize("back_end", EVERYWHERE, indirect=True)
def test_commands_reach_the_listed_hosts_and_no_others(
    back_end: SandboxProvider, web: WebServer
) -> None:
    hosts = ("127.0.0.1", "*.example.org")
    with opened(back_end, hosts) as sandbox:
        listed = f"http://127.0.0.1:{web.port}/"
        # The sandbox's own loopback interface is not that of the proxy.
        assert ask(sandbox, listed) == ["nothing"]
        env = {"NO_PROXY": "", "no_proxy": ""}
        reported = run(sandbox, "python3", "-c", ASK, listed, "http://example.net/", env=env)
        assert reported.split() == ["200", "403"]
        assert not connects(sandbox, "127.0.0.1", web.port)
        assert logged(sandbox) == [("127.0.0.1", True), ("example.net", False)]
        assert logged(sandbox) == []
    assert [path for _, path, _, _ in web.requests] == ["/"]


@pytest.mark.parametrize("back_end", EVERYWHERE, indirect=True)
def test_the_variables_name_the_proxy(back_end: SandboxProvider) -> None:
    with opened(back_end, ("a.example",)) as sandbox:
        lines = run(sandbox, "env", env={"ALL_PROXY": "mine"}).splitlines()
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    assert env["http_proxy"].startswith("http://127.0.0.1:")
    assert env["http_proxy"] == env["HTTP_PROXY"] == env["https_proxy"] == env["HTTPS_PROXY"]
    assert env["ALL_PROXY"] == "mine"
    assert env["NO_PROXY"] == env["no_proxy"] == "localhost,127.0.0.1,::1"


@pytest.mark.parametrize("back_end", EVERYWHERE, indirect=True)
def test_model_is_reachable_with_the_proxy(
    back_end: SandboxProvider, web: WebServer, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{web.port}/"
    script = f"{ASK}\nimport os, socket\n"
    script += "at = os.environ['AGENTBENCH_MODEL_URL'].split('/')[2].split(':')\n"
    script += "peer = socket.create_connection(at, timeout=60); peer.sendall(b'hello')\n"
    script += "peer.shutdown(socket.SHUT_WR); print(peer.makefile().read())"
    with (
        unix_endpoint(tmp_path / "door", echo) as door,
        opened(back_end, ("127.0.0.1",), more=endpoint_mounts(door)) as sandbox,
    ):
        command = Command(
            argv=("python3", "-c", script, url),
            timeout=timedelta(seconds=10 * HANG_SECONDS),
            env={"NO_PROXY": "", "no_proxy": ""},
        )
        result = sandbox.run(relayed_command(command, sandbox, door))
    assert result.stdout.split() == ["200", "helloend"], result.stderr


@pytest.mark.docker
@pytest.mark.parametrize("name", ["docker", "elsewhere"])
def test_network_change_affects_running_processes(
    request: pytest.FixtureRequest, name: str, web: WebServer
) -> None:
    provider: DockerProvider = request.getfixturevalue(name)
    url = f"http://127.0.0.1:{web.port}/"
    with opened(provider, ("127.0.0.1",), ("example.org",), False) as sandbox:
        assert isinstance(sandbox, LastingSandbox)
        env = {"NO_PROXY": "", "no_proxy": ""}
        line = 'python3 -c "$0" "$1" > /dev/null 2>&1 &'
        run(sandbox, "sh", "-c", line, SERVE, url, env=env)
        wait = "touch /tmp/ask$0; until cat /tmp/said$0 2> /dev/null; do sleep 0.1; done"
        assert run(sandbox, "sh", "-c", wait, "1") == "200"
        assert logged(sandbox) == [("127.0.0.1", True)]
        sandbox.set_network(("example.org",))
        assert run(sandbox, "sh", "-c", wait, "2") == "403"
        sandbox.set_network(False)
        # It still knows the address, which is refused, or leads nowhere without a tunnel.
        assert run(sandbox, "sh", "-c", wait, "3") in {"403", "nothing"}
        assert ask(sandbox, "http://example.org/") == ["nothing"]
    assert len(web.requests) == 1


@pytest.mark.docker
@pytest.mark.parametrize("with_services", [False, True])
@pytest.mark.parametrize("networks", [(False, True, False), (True, False, True), (True, True)])
def test_a_public_network_comes_and_goes(
    docker: DockerProvider, tmp_path: Path, networks: tuple[bool, ...], *, with_services: bool
) -> None:
    host = bridge_of(Engine.connect())
    services = services_in(tmp_path, STORE) if with_services else None
    use = SandboxUse(lasting=True, services=services)
    with opened(docker, *networks, use=use) as sandbox, listening() as port:
        assert isinstance(sandbox, LastingSandbox)
        for network in networks:
            sandbox.set_network(network)
            assert connects(sandbox, host, port) is network
            if with_services:
                assert connects(sandbox, "db", int(PORT))


@pytest.mark.docker
def test_services_are_reached_without_the_proxy(docker: DockerProvider, tmp_path: Path) -> None:
    use = SandboxUse(services=services_in(tmp_path, STORE))
    with opened(docker, ("a.example",), use=use) as sandbox:
        assert run(sandbox, "printenv", "no_proxy") == "localhost,127.0.0.1,::1,db\n"
        assert connects(sandbox, "db", int(PORT))
        with listening() as port:
            assert not connects(sandbox, bridge_of(Engine.connect()), port)


@pytest.mark.docker
def test_image_without_python_is_the_fault_of_the_task(
    docker: DockerProvider, foreign_image: str
) -> None:
    with (
        pytest.raises(SandboxError, match="needs Python 3 in the image") as raised,
        opened(docker, ("a.example",), image=foreign_image),
    ):
        pass
    assert raised.value.fault == "task"


def test_back_end_without_network_isolation_is_refused(
    process: ProcessProvider, bubblewrap: SandboxProvider
) -> None:
    check_networks(True, (False,), process)
    with pytest.raises(UnavailableError, match="process cannot keep commands to a list of hosts"):
        check_networks(("a.example",), (False,), process)
    check_networks(True, (("a.example",), False), bubblewrap)
    with pytest.raises(UnavailableError, match="bubblewrap would give the agent the network of"):
        check_networks(False, (True, False), bubblewrap)
