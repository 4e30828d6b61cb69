"""Where the engine is looked for; and one that is spoken to by TLS, rightly and wrongly."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from agentbench.core.files import is_owned
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.connection import (
    SshError,
    SshTunnel,
    connect_to_socket,
    explain_refusal,
    find_address,
)
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, ReadOnlyMount
from tests.e2e.hosts import closed_port, silent_host
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, import_image
from tests.sandbox.engine_certificates import Certificates, certificates_for
from tests.sandbox.private_engines import folder_of_an_engine, need, need_second_engine
from tests.sandbox.second_engine import second_engine
from tests.sandbox.ssh_server import SshServer, missing_programs, ssh_server

__all__ = ["engine", "image"]

IMAGE = "agentbench-test/foreign"
PORT = 2376


def test_given_address_precedes_the_environment_and_the_context() -> None:
    environ = {"DOCKER_HOST": "tcp://10.0.0.1:2376"}
    assert find_address("unix:///x", environ).url == "unix:///x"
    found = find_address(None, environ)
    assert (found.url, found.found_by, found.is_local) == (
        "tcp://10.0.0.1:2376",
        "DOCKER_HOST",
        False,
    )


def test_default_address_is_the_usual_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    found = find_address(None, {})
    assert (found.url, found.found_by, found.is_local) == (None, "its usual socket", True)
    assert found.socket == "/var/run/docker.sock"


@pytest.mark.parametrize("url", [None, "unix:///x", "ssh://there"])
def test_sockets_and_ssh_need_no_certificates(url: str | None) -> None:
    environ = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/nowhere"}
    assert find_address(url, environ).tls(environ) is None


def test_missing_certificates_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    environ = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    with pytest.raises(UnavailableError, match=r"has no readable cert\.pem, key\.pem") as it:
        find_address("tcp://10.0.0.1:2376", environ).tls(environ)
    assert str(tmp_path) in str(it.value)
    assert find_address("tcp://10.0.0.1:2375", {}).tls({}) is None


@dataclass(frozen=True)
class ByTls:
    """An engine behind TLS."""

    url: str
    certificates: Certificates


# If a tunnel is gone, the SDK cannot connect, and leaves its socket to the garbage collector. That
# socket was never connected, and so has no address. A connection that we leave open has one.
IGNORED_SOCKETS = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <socket.socket fd=\d+, family=1, type=1, proto=0>"
    ":pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def by_tls() -> Iterator[ByTls]:
    need_second_engine()
    with folder_of_an_engine() as folder:
        created: list[Certificates] = []

        def options(network) -> tuple[str, ...]:
            created.append(certificates_for(folder / "tls", network.address))
            return (*created[0].options, f"--host=tcp://{network.address}:{PORT}", "--bridge=none")

        (folder / "tls").mkdir()
        with second_engine(folder, options=options) as started:
            import_image(started.await_engine(), IMAGE)
            host = started.network.address
            yield ByTls(f"tcp://{host}:{PORT}", created[0])


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    def use(folder: Path | None, verify: str = "1") -> None:
        monkeypatch.setenv("DOCKER_TLS_VERIFY", verify)
        monkeypatch.setenv("DOCKER_CERT_PATH", str(folder or ""))

    return use


@pytest.mark.docker
@pytest.mark.parametrize("given", [True, False])
def test_sandboxes_work_by_tls(
    by_tls: ByTls, use, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(by_tls.certificates.client(f"right-{given}"))
    monkeypatch.setenv("DOCKER_HOST", "" if given else by_tls.url)
    monkeypatch.setenv(
        "REQUESTS_CA_BUNDLE", str(by_tls.certificates.client(f"w-{given}") / "key.pem")
    )
    (tmp_path / "file").write_text("text")
    provider = DockerProvider.connect(base_url=by_tls.url if given else None)
    mount = ReadOnlyMount(name="a", source=tmp_path)
    big = bytes(range(256)) * 20_000
    with provider.open(ImageId(IMAGE), limits=LIMITS, network=False, mounts=[mount]) as sandbox:
        assert sh(sandbox, f"cat {sandbox.mounted('a')}/file; cat", stdin=b"in").stdout == "textin"
        echoed = sh(sandbox, "cat; echo oh >&2; exit 3", stdin=big)
        assert (echoed.exit_code, echoed.stderr, echoed.output_bytes) == (3, "oh\n", len(big) + 3)
    assert provider.describe()["files"] == "copied in"


def refusal(url: str) -> str:
    with pytest.raises(UnavailableError) as caught:
        Engine.connect(url)
    assert "\n" not in str(caught.value)
    assert url in str(caught.value)
    return str(caught.value)


@pytest.mark.docker
def test_each_certificate_fault_has_its_own_message(by_tls: ByTls, use) -> None:
    certificates, other = by_tls.certificates, trustme.CA()
    use(certificates.client("distrusts", trusts=other))
    assert "not signed by the CA in ca.pem" in refusal(by_tls.url)
    use(certificates.client("expired", expired=True))
    assert "refuses our certificate" in refusal(by_tls.url)
    use(certificates.client("foreign", by=other))
    assert "refuses our certificate" in refusal(by_tls.url)
    use(None, verify="")
    assert "set DOCKER_TLS_VERIFY=1" in refusal(by_tls.url)


@pytest.mark.docker
def test_key_of_another_certificate_is_reported(by_tls: ByTls, use) -> None:
    folder, other = (by_tls.certificates.client(name) for name in ("mixed", "other"))
    (other / "key.pem").rename(folder / "key.pem")
    use(folder)
    assert "do not belong together" in refusal(by_tls.url)


SAID = {
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate "
    "is not valid for 'x'": "another name",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired": (
        "its certificate has expired"
    ),
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate": (
        "not signed by the CA"
    ),
    "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required": "refuses our",
    "[SSL: SSLV3_ALERT_BAD_CERTIFICATE] ssl/tls alert bad certificate": "refuses our",
    "400 Client Error: Client sent an HTTP request to an HTTPS server.": "DOCKER_TLS_VERIFY=1",
    "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)": "does not use TLS",
    "[SSL: RECORD_LAYER_FAILURE] record layer failure": "does not use TLS",
    "[X509: KEY_VALUES_MISMATCH] key values mismatch": "do not belong together",
    "[Errno 13] Permission denied": "join the group docker",
    "[Errno 2] No such file\nor directory": "No such file or directory: start it (`systemctl",
}


@pytest.mark.parametrize(("reported", "meaning"), SAID.items())
def test_refusal_is_one_line_with_a_remedy(reported: str, meaning: str) -> None:
    described = explain_refusal(OSError(reported))
    assert meaning in described
    assert "\n" not in described
    assert "Errno" not in described


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


@pytest.mark.docker
@IGNORED_SOCKETS
def test_sandboxes_work_by_ssh_in_many_threads_over_one_connection(
    url: str, image: ImageId, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    provider = DockerProvider.connect(base_url=url)
    mount = ReadOnlyMount(name="a", source=tmp_path)

    def work(number: int) -> str:
        with provider.open(image, limits=LIMITS, network=False, mounts=[mount]) as sandbox:
            reported = sh(sandbox, f"cat; cat {sandbox.mounted('a')}/file", stdin=b"%d " % number)
        return reported.stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [f"{number} text" for number in range(8)]
    assert provider.describe()["files"] == "copied in"
    assert len(children_named("-L")) == 1


@pytest.mark.docker
@IGNORED_SOCKETS
def test_broken_ssh_connection_is_opened_again(url: str) -> None:
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


@pytest.mark.docker
@IGNORED_SOCKETS
def test_the_connection_ends_with_the_engine(server: SshServer) -> None:
    tunnel = SshTunnel(server.url)
    path = Path(tunnel.socket())
    assert path.is_socket()
    assert tunnel.socket() == str(path)
    tunnel.close()
    tunnel.close()
    assert not path.parent.exists()
    assert children_named("-L") == []


@pytest.mark.docker
@IGNORED_SOCKETS
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


@pytest.mark.docker
@IGNORED_SOCKETS
def test_unknown_host_key_is_refused_with_a_remedy(server: SshServer, url: str) -> None:
    server.forget_host()
    assert "key is unknown here: log in once by hand" in refusal(url)


@pytest.mark.docker
@IGNORED_SOCKETS
def test_refused_user_key_is_reported(server: SshServer, url: str) -> None:
    server.refuse_user()
    assert "accepts none of our keys" in refusal(url)


@pytest.mark.docker
@IGNORED_SOCKETS
@pytest.mark.usefixtures("server")
def test_unknown_host_is_reported() -> None:
    assert "no ssh server answers" in refusal(f"ssh://root@127.0.0.1:{closed_port()}")


@pytest.mark.docker
@IGNORED_SOCKETS
@pytest.mark.usefixtures("server")
def test_silent_host_is_given_up() -> None:
    with silent_host() as port:
        assert "in time" in refusal(f"ssh://root@127.0.0.1:{port}")


@pytest.mark.docker
@IGNORED_SOCKETS
def test_missing_remote_engine_is_reported(server: SshServer) -> None:
    assert "check that its socket exists" in refusal(f"{server.url}/nowhere/docker.sock")


@pytest.mark.docker
@IGNORED_SOCKETS
@pytest.mark.parametrize("url", ["ssh://", "ssh://user@", "ssh://-oProxyCommand=x/", "ssh://h:x"])
def test_malformed_ssh_address_is_reported(url: str) -> None:
    with pytest.raises(SshError, match="expected ssh://"):
        SshTunnel(url).socket()


@pytest.mark.docker
@IGNORED_SOCKETS
def test_missing_ssh_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnavailableError, match="install an OpenSSH client"):
        Engine.connect("ssh://root@127.0.0.1")
