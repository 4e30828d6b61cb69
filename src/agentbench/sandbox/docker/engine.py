"""The one place that talks to the Docker SDK.

A client for each thread, errors in our own terms, and what an engine says about itself.
"""

import os
import socket
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.transport import UnixHTTPAdapter

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.connection import SshError, SshTunnel, explain_refusal, find_address
from agentbench.sandbox.interface import Promise

_USER_PROCESSES = 16_384  # less than any machine lets root have, more than all attempts need


class EngineProduct(StrEnum):
    """Who answers by Docker's API."""

    DOCKER = "docker"
    PODMAN = "podman"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """An engine, in the words of its answers."""

    product: EngineProduct
    version: str
    api_version: str
    operating_system: str
    architecture: str
    kernel: str
    storage_driver: str
    cgroup_version: str
    root: str  # the folder, of its own machine, that holds images, containers and volumes
    cpus: int
    limits_memory: bool
    limits_pids: bool
    limits_cpu: bool
    seccomp: bool

    @property
    def closes_user_namespaces(self) -> bool:
        """Whether its seccomp profile does: Podman's lets anybody make one and be root in it.

        Podman takes no other profile than a file of its own machine.
        """
        return self.seccomp and self.product is EngineProduct.DOCKER

    @property
    def user_processes(self) -> int | None:
        """What to bound the processes of a container's user by; None: nothing.

        Podman as root asks for more than it may have itself, unless it is told.
        """
        return _USER_PROCESSES if self.product is EngineProduct.PODMAN else None

    @property
    def promises(self) -> frozenset[Promise]:
        """What it can keep with its kernel."""
        lacking = {
            Promise.MEMORY_LIMIT: not self.limits_memory,
            Promise.TELLS_OOM: not self.limits_memory,
            Promise.PIDS_LIMIT: not self.limits_pids,
            Promise.CPU_LIMIT: not self.limits_cpu,
            Promise.UNPRIVILEGED: not self.closes_user_namespaces,
        }
        return frozenset(promise for promise in Promise if not lacking.get(promise))

    @property
    def isolation(self) -> str:
        """How it isolates."""
        walls = "container, no capabilities, no new privileges"
        if not self.seccomp:
            return f"{walls}, no seccomp"
        if not self.closes_user_namespaces:
            return f"{walls}, seccomp that lets user namespaces be made"
        return f"{walls}, seccomp"


def read_facts(info: Mapping[str, object], version: Mapping[str, object]) -> EngineFacts:
    """The facts in an engine's answers to `info` and `version`."""

    def said(name: str) -> str:
        return str(info.get(name) or "unknown")

    options = info.get("SecurityOptions")
    security = options if isinstance(options, list) else []
    return EngineFacts(
        product=_product(version),
        version=said("ServerVersion"),
        api_version=str(version.get("ApiVersion") or "unknown"),
        operating_system=said("OperatingSystem"),
        architecture=said("Architecture"),
        kernel=said("KernelVersion"),
        storage_driver=said("Driver"),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        root=str(info.get("DockerRootDir") or ""),
        cpus=int(str(info.get("NCPU") or 1)),
        limits_memory=bool(info.get("MemoryLimit")),
        limits_pids=bool(info.get("PidsLimit")),
        limits_cpu=bool(info.get("CpuCfsQuota")),
        seccomp=any("seccomp" in str(option) for option in security),
    )


def _product(version: Mapping[str, object]) -> EngineProduct:
    components = version.get("Components")
    named = str(components).lower() if isinstance(components, list) else ""
    return EngineProduct.PODMAN if "podman" in named else EngineProduct.DOCKER


DockerApi = docker.APIClient
OLDEST_API = (1, 41)  # engine 20.10
_PING_SECONDS = 5
_FIRST_SECONDS = 20  # for the first answer: a host that is not there takes as long
_SHORT_SECONDS = 60  # for a request that moves nothing; exec streams have waits of their own
_LONG_SECONDS = 900  # for one that moves files: a commit, an archive, a build
_BY_SOCKET = "http+docker://"  # how the SDK writes the address of a socket of this machine
_KEPT_ADDRESSES = 4


class DockerNotFoundError(SandboxError):
    """The engine answers that it has no such container, image or path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """What an engine says about an image."""

    id: str
    env: tuple[str, ...]
    labels: Mapping[str, str]


class _Clients(threading.local):
    """The clients of one thread, by how many seconds they wait for an answer.

    They are closed with their thread: left to the garbage collector, the connections of threads
    that have long ended add up to hundreds.
    """

    def __init__(self) -> None:
        self.by_patience: dict[int, DockerApi] = {}
        self._thread = _Thread()
        weakref.finalize(self._thread, _close_all, self.by_patience)


class _Thread:
    """Goes when its thread does."""


def _close_all(clients: dict[int, DockerApi]) -> None:
    for client in clients.values():
        client.close()
    clients.clear()


class Engine:
    """A Docker engine. Safe to use from several threads: each gets a client of its own."""

    def __init__(self, base_url: str | None = None) -> None:
        self.address = find_address(base_url, os.environ)
        by_ssh = self.base_url is not None and self.base_url.startswith("ssh://")
        self._tunnel = SshTunnel(str(self.base_url)) if by_ssh else None
        self._version = ".".join(map(str, OLDEST_API))  # until it has said its own
        self._greeting: dict[str, object] = {}  # what it said then
        self._clients = _Clients()

    @classmethod
    def connect(cls, base_url: str | None = None) -> "Engine":
        """An engine that answers.

        Raises:
            UnavailableError: none does, or it is too old.
        """
        engine = cls(base_url)
        try:
            engine._knock()
            engine._greeting = engine._client(_FIRST_SECONDS).version(api_version=False)
            engine._version = str(engine._greeting["ApiVersion"])
        except (DockerException, OSError) as fault:
            where = engine.base_url or "its usual socket"
            raise UnavailableError(
                f"no Docker engine answers at {where}: {engine._reason(fault)}"
            ) from fault
        if tuple(int(part) for part in engine._version.split(".")) < OLDEST_API:
            raise UnavailableError(
                f"the engine speaks API {engine._version}: install Docker 20.10 or newer"
            )
        return engine

    @property
    def base_url(self) -> str | None:
        """Where it is; None: at its usual socket."""
        return self.address.url

    @property
    def is_local(self) -> bool:
        """Whether it is reached by a socket of this machine and so may see this machine's files."""
        return self.address.is_local

    @contextmanager
    def api(self, doing: str, *, moves_files: bool = False) -> Iterator[DockerApi]:
        """Calls to the engine, whose errors come out as ours.

        Args:
            doing: What for, to be read after "cannot".
            moves_files: Whether the answer may be long in coming.

        Raises:
            DockerNotFoundError: the engine has not got what it was asked for.
            SandboxError: the engine refused, or it is lost.
        """
        try:
            yield self._client(_LONG_SECONDS if moves_files else _SHORT_SECONDS)
        except (NotFound, ImageNotFound) as fault:
            raise DockerNotFoundError(f"cannot {doing}: {_explain(fault)}") from fault
        except (DockerException, OSError) as fault:
            raise SandboxError(f"cannot {doing}: {_explain(fault)}") from fault

    def require_answer(self) -> None:
        """Find out, soon, whether it is still there: when it dies, streams just end.

        Raises:
            SandboxError: it is not, or it is frozen.
        """
        try:
            self._knock()
            self._client(_PING_SECONDS).ping()
        except (DockerException, OSError) as fault:
            raise SandboxError(f"the engine does not answer any more: {fault}") from fault

    @cached_property
    def facts(self) -> EngineFacts:
        """What it says about itself.

        Raises:
            SandboxError: the engine is lost.
        """
        with self.api("ask the engine about itself") as api:
            return read_facts(api.info(), self._greeting or api.version())

    def image(self, name: str) -> ImageFacts:
        """An image that is there, by its name or id.

        Raises:
            DockerNotFoundError: it is not.
            SandboxError: the engine is lost.
        """
        with self.api(f"find the image {name}") as api:
            found = api.inspect_image(name)  # type: ignore[no-untyped-call]  # the stubs' gap
        config = found.get("Config") or {}
        return ImageFacts(
            id=str(found["Id"]),
            env=tuple(config.get("Env") or ()),
            labels=MappingProxyType(dict(config.get("Labels") or {})),
        )

    def _knock(self) -> None:
        """Connect and hang up: where that fails, the SDK would leave a socket open."""
        if not self.is_local or os.name != "posix":
            return
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(_PING_SECONDS)
            knocking.connect(self.address.socket)

    def _client(self, seconds: int) -> DockerApi:
        url = self._url()
        client = self._clients.by_patience.get(seconds)
        if client is None:
            tls = self.address.tls(os.environ)
            client = DockerApi(
                base_url=url, version=self._version, timeout=seconds, tls=tls or False
            )
            _keep_few_connections(client)
            if tls is not None or self.is_local:
                # REQUESTS_CA_BUNDLE would take the place of the engine's CA; for a socket there is
                # nothing to be found in the environment, and to look takes half of a short call.
                client.trust_env = False
            self._clients.by_patience[seconds] = client
        return client

    def _url(self) -> str | None:
        """What the SDK can connect to: by ssh it is a socket that leads there."""
        return self.base_url if self._tunnel is None else f"unix://{self._tunnel.socket()}"

    def _reason(self, fault: Exception) -> str:
        if isinstance(fault, SshError):
            return str(fault)
        said = self._tunnel.complaint() if self._tunnel is not None else ""
        return (
            f"{said}: is its socket there, and may you use it?" if said else explain_refusal(fault)
        )


def _keep_few_connections(client: DockerApi) -> None:
    """Have it close what it will not use again.

    At a socket the SDK takes every address it asks for a server of its own, and keeps the
    connections to the last 25 of them; the number that it can be told counts for ssh alone.
    """
    socket_adapter = client.adapters.get(_BY_SOCKET)
    if isinstance(socket_adapter, UnixHTTPAdapter):
        path, seconds = socket_adapter.socket_path, socket_adapter.timeout
        few = UnixHTTPAdapter(f"http+unix://{path}", seconds, pool_connections=_KEPT_ADDRESSES)
        client.mount(_BY_SOCKET, few)


def _explain(fault: Exception) -> str:
    text = str(fault.explanation or fault) if isinstance(fault, APIError) else str(fault)
    if "no space left on device" in text.lower():
        return f"the engine's disk is full ({text}); `docker system df` shows what uses it"
    return text
