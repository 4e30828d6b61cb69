"""An engine that is reached by ssh, and one that is reached by TLS.

The gate moves a command's streams and a tree each way; the soak runs the whole conformance suite.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, SandboxProvider
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.conformance_trees import tar_of, tree_of
from tests.sandbox.docker_fixtures import bridge_of, gaps, left_in
from tests.sandbox.engine_certificates import certificates_for
from tests.sandbox.private_engines import (
    folder_of_an_engine,
    give_base_image,
    need,
    need_second_engine,
)
from tests.sandbox.private_network import PrivateNetwork
from tests.sandbox.second_engine import second_engine
from tests.sandbox.ssh_server import missing_programs, ssh_server

__all__ = ["gaps"]

pytestmark = pytest.mark.docker

_PORT = 2376


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an engine is reached, and this machine from its containers."""

    url: str
    host: str


class _Elsewhere:
    """The fixtures, from the way to an engine."""

    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, way: Way) -> str:
        return way.url

    @pytest.fixture(scope="class")
    @classmethod
    def provider(cls, url: str) -> DockerProvider:
        return DockerProvider.connect(base_url=url)

    @pytest.fixture(scope="class")
    @classmethod
    def image(cls, provider: DockerProvider) -> ImageId:
        return provider.resolve_image(None)

    @pytest.fixture(scope="class")
    @classmethod
    def reconnect(cls, url: str) -> Callable[[], SandboxProvider]:
        return lambda: DockerProvider.connect(base_url=url)

    @pytest.fixture(scope="class")
    @classmethod
    def leftovers(cls, url: str) -> Callable[[], frozenset[str]]:
        engine = Engine.connect(url)
        return lambda: left_in(engine)

    @pytest.fixture(scope="class")
    @classmethod
    def reachable_host(cls, way: Way) -> str:
        return way.host


class _Smoke:
    """What moves most over the connection."""

    def test_streams_and_trees_go_both_ways_and_nothing_is_left(
        self, provider: DockerProvider, image: ImageId, leftovers: Callable[[], frozenset[str]]
    ) -> None:
        text = b"a line of text\n" * 50_000
        others = leftovers()
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            reported = sh(sandbox, "tee sent.txt; echo to stderr >&2; exit 7", stdin=text)
            assert (reported.exit_code, reported.stderr) == (7, "to stderr\n")
            assert reported.stdout.encode() == text
            sandbox.write_tree(sandbox.workspace, tar_of({"written.txt": (0o640, text)}))
            tree = tree_of(sandbox, sandbox.workspace)
            assert tree["written.txt"] == (0o640, text)
            assert tree["sent.txt"][1] == text
        assert leftovers() == others


class _BySsh(_Elsewhere):
    """The usual engine, by way of an ssh server on loopback."""

    @pytest.fixture(scope="class")
    @classmethod
    def way(cls) -> Iterator[Way]:
        need(missing_programs())
        usual = Engine.connect()
        with (
            pytest.MonkeyPatch.context() as patch,
            folder_of_an_engine() as folder,
            ssh_server(folder) as server,
        ):
            patch.setenv("PATH", f"{server.program.parent}:{os.environ['PATH']}")
            yield Way(url=f"{server.url}{usual.address.socket}", host=bridge_of(usual))


class _ByTls(_Elsewhere):
    """A second engine, by way of a port that takes nobody without a certificate."""

    @pytest.fixture(scope="class")
    @classmethod
    def way(cls) -> Iterator[Way]:
        need_second_engine()
        with pytest.MonkeyPatch.context() as patch, folder_of_an_engine() as folder:
            (folder / "tls").mkdir()

            def options(network: PrivateNetwork) -> tuple[str, ...]:
                certificates = certificates_for(folder / "tls", network.address)
                patch.setenv("DOCKER_CERT_PATH", str(certificates.client("us")))
                return (*certificates.options, f"--host=tcp://{network.address}:{_PORT}")

            with second_engine(folder, options=options) as started:
                give_base_image(started.await_engine())
                patch.setenv("DOCKER_TLS_VERIFY", "1")
                network = started.network
                yield Way(url=f"tcp://{network.address}:{_PORT}", host=network.host)


class TestBySsh(_BySsh, _Smoke):
    """One test for the gate."""


class TestByTls(_ByTls, _Smoke):
    """One test for the gate."""


@pytest.mark.soak
class TestConformanceBySsh(_BySsh, SandboxConformance):
    """All that is asked of any sandbox."""


@pytest.mark.soak
class TestConformanceByTls(_ByTls, SandboxConformance):
    """All that is asked of any sandbox."""
