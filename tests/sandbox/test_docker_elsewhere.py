"""The conformance suite on an engine that is reached by ssh, and on one that is reached by TLS.

Most of it does not depend on the way to the engine, so a part stands for all; AGENTBENCH_SOAK=1
runs the whole.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from agentbench.sandbox.docker import DockerProvider
from agentbench.sandbox.docker_engine import Engine
from agentbench.sandbox.interface import ImageId, Promise, SandboxProvider
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_commands import CommandConformance
from tests.sandbox.conformance_snapshots import SnapshotConformance
from tests.sandbox.docker_fixtures import bridge_of, left_in
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

pytestmark = pytest.mark.docker

_WHOLE = os.environ.get("AGENTBENCH_SOAK") == "1"
_PORT = 2376


class _Part(CommandConformance, SnapshotConformance):
    """What moves most over the connection: commands with their streams, and trees."""


_Suite: type = SandboxConformance if _WHOLE else _Part


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
    def gaps(cls) -> frozenset[Promise]:
        return frozenset()

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


class TestConformanceBySsh(_Elsewhere, _Suite):
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


class TestConformanceByTls(_Elsewhere, _Suite):
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
