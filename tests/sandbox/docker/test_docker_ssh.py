"""An engine that is reached by ssh: sandboxes as ever, one connection, and refusals that help."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentbench.core.files import is_owned
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.connection import SshError, SshTunnel, connect_to_socket
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, ReadOnlyMount
from tests.e2e.hosts import closed_port, silent_host
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image
from tests.sandbox.private_engines import folder_of_an_engine, need
from tests.sandbox.ssh_server import SshServer, missing_programs, ssh_server

__all__ = ["engine", "image"]

pytestmark = [
    pytest.mark.docker,
    # Where a tunnel is gone the SDK cannot connect, and leaves its socket to the collector: one
    # that was never connected, and so has no address. A connection that we leave has one.
    pytest.mark.filterwarnings(
        r"ignore:Exception ignored in. <socket.socket fd=\d+, family=1, type=1, proto=0>"
        ":pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    need(missing_programs())
    with folder_of_an_engine() as folder, ssh_server(folder) as started:
        monkeypatch.setenv("PATH", f"{started.program.parent}:{os.environ['PATH']}")
        yield started


@pytest.fixture
def url(server: SshServer, engine: Engine) -> str:
    return f"{server.url}{engine.address.socket}"


@pytest.fixture(autouse=True)
def _no_other_connection() -> None:
    """What other tests let go of is gone before connections are counted."""
    gc.collect()


def children_named(name: str) -> list[int]:
    listed = subprocess.run(
        ["ps", "-ww", "--ppid", str(os.getpid()), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if name in line]


def test_sandboxes_work_by_ssh_in_many_threads_over_one_connection(
    url: str, image: ImageId, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    provider = DockerProvider.connect(base_url=url)
    mount = ReadOnlyMount(name="a", source=tmp_path)

    def work(number: int) -> str:
        with provider.open(image, limits=LIMITS, network=False, mounts=[mount]) as sandbox:
            said = sh(sandbox, f"cat; cat {sandbox.mounted('a')}/file", stdin=b"%d " % number)
        return said.stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [f"{number} text" for number in range(8)]
    assert provider.describe()["files"] == "copied in"
    assert len(children_named("-L")) == 1


def test_a_connection_that_broke_is_made_again(url: str) -> None:
    by_ssh = Engine.connect(url)
    by_ssh.require_answer()
    (first,) = children_named("-L")
    os.killpg(first, signal.SIGKILL)
    wait_until(lambda: _answers(by_ssh))
    (second,) = children_named("-L")
    assert second != first


def _answers(by_ssh: Engine) -> bool:
    try:
        by_ssh.require_answer()
    except SandboxError:
        return False
    return True


def test_the_connection_ends_with_the_engine(server: SshServer) -> None:
    tunnel = SshTunnel(server.url)
    path = Path(tunnel.socket())
    assert path.is_socket()
    assert tunnel.socket() == str(path)
    tunnel.close()
    tunnel.close()
    assert not path.parent.exists()
    assert children_named("-L") == []


def test_the_connection_ends_with_a_process_that_is_killed(url: str) -> None:
    script = (
        "import sys; from agentbench.sandbox.docker.connection import SshTunnel; "
        f"tunnel = SshTunnel({url!r}); print(tunnel.socket(), flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe) as program:
        assert program.stdout is not None
        path = Path(program.stdout.readline().decode().strip())
        connect_to_socket(str(path), HANG_SECONDS)
        program.kill()
    wait_until(lambda: _refuses(path))  # its ssh has ended
    assert not is_owned(path.parent)  # so the next run removes it
    shutil.rmtree(path.parent)


def _refuses(path: Path) -> bool:
    try:
        connect_to_socket(str(path), HANG_SECONDS)
    except ConnectionRefusedError:
        return True
    return False


def refusal(url: str) -> str:
    with pytest.raises(UnavailableError) as caught:
        Engine.connect(url)
    assert "\n" not in str(caught.value)
    assert url in str(caught.value)
    return str(caught.value)


def test_a_host_whose_key_is_not_known_is_refused_with_what_to_do(
    server: SshServer, url: str
) -> None:
    server.forget_host()
    assert "key is unknown here: log in once by hand" in refusal(url)


def test_a_user_whose_key_is_not_taken_is_told(server: SshServer, url: str) -> None:
    server.refuse_user()
    assert "accepts none of our keys" in refusal(url)


@pytest.mark.usefixtures("server")
def test_a_host_that_is_not_there_is_told() -> None:
    assert "no ssh server answers" in refusal(f"ssh://root@127.0.0.1:{closed_port()}")


@pytest.mark.usefixtures("server")
def test_a_host_that_says_nothing_is_not_waited_for_without_end() -> None:
    with silent_host() as port:
        assert "in time" in refusal(f"ssh://root@127.0.0.1:{port}")


def test_an_engine_that_is_not_there_is_told(server: SshServer) -> None:
    assert "check that its socket exists" in refusal(f"{server.url}/nowhere/docker.sock")


@pytest.mark.parametrize("url", ["ssh://", "ssh://user@", "ssh://-oProxyCommand=x/", "ssh://h:x"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(SshError, match="expected ssh://"):
        SshTunnel(url).socket()


def test_without_ssh_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnavailableError, match="install an OpenSSH client"):
        Engine.connect("ssh://root@127.0.0.1")
