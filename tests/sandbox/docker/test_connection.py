"""Where the engine is looked for; and one that is spoken to by TLS, rightly and wrongly."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.connection import explain_refusal, find_address
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, ReadOnlyMount
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import import_image
from tests.sandbox.engine_certificates import Certificates, certificates_for
from tests.sandbox.private_engines import folder_of_an_engine, need_second_engine
from tests.sandbox.second_engine import second_engine

IMAGE = "agentbench-test/foreign"
PORT = 2376


def test_what_is_given_goes_before_the_environment_and_that_before_the_rest() -> None:
    environ = {"DOCKER_HOST": "tcp://10.0.0.1:2376"}
    assert find_address("unix:///x", environ).url == "unix:///x"
    found = find_address(None, environ)
    assert (found.url, found.found_by, found.is_local) == (
        "tcp://10.0.0.1:2376",
        "DOCKER_HOST",
        False,
    )


def test_where_nothing_is_said_it_is_the_usual_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    found = find_address(None, {})
    assert (found.url, found.found_by, found.is_local) == (None, "its usual socket", True)
    assert found.socket == "/var/run/docker.sock"


@pytest.mark.parametrize("url", [None, "unix:///x", "ssh://there"])
def test_where_tls_has_no_place_no_certificates_are_asked_for(url: str | None) -> None:
    environ = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/nowhere"}
    assert find_address(url, environ).tls(environ) is None


def test_certificates_that_are_not_there_are_named(tmp_path: Path) -> None:
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


@pytest.fixture(scope="module")
def by_tls() -> Iterator[ByTls]:
    need_second_engine()
    with folder_of_an_engine() as folder:
        made: list[Certificates] = []

        def options(network) -> tuple[str, ...]:
            made.append(certificates_for(folder / "tls", network.address))
            return (*made[0].options, f"--host=tcp://{network.address}:{PORT}", "--bridge=none")

        (folder / "tls").mkdir()
        with second_engine(folder, options=options) as started:
            import_image(started.await_engine(), IMAGE)
            host = started.network.address
            yield ByTls(f"tcp://{host}:{PORT}", made[0])


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
def test_a_wrong_ca_is_told_from_an_expired_a_foreign_and_a_missing_certificate(
    by_tls: ByTls, use
) -> None:
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
def test_a_key_that_does_not_belong_to_its_certificate_is_told(by_tls: ByTls, use) -> None:
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


@pytest.mark.parametrize(("said", "meaning"), SAID.items())
def test_a_failure_is_told_in_a_line_with_what_to_do(said: str, meaning: str) -> None:
    told = explain_refusal(OSError(said))
    assert meaning in told
    assert "\n" not in told
