"""The only module that uses the Docker SDK: clients per thread, our own errors, engine facts."""

import os
import threading
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
from agentbench.sandbox.docker import connection
from agentbench.sandbox.interface import Promise

_USER_PROCESSES = 16_384  # below root's limit on any machine, but enough for all attempts
DockerApi = docker.APIClient
OLDEST_API = (1, 41)  # engine 20.10
_PING_SECONDS = 5
_FIRST_SECONDS = 20  # for the first answer; a missing host takes this long
_SHORT_SECONDS = 60  # for a request that moves no files; exec streams have their own time limits
_LONG_SECONDS = 900  # for one that moves files: a commit, an archive, a build
_BY_SOCKET = "http+docker://"  # the SDK's address of a local socket
_ADDRESS_POOL = 4


class EngineProduct(StrEnum):
    """The program that serves Docker's API."""

    DOCKER = "docker"
    PODMAN = "podman"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """The facts in an engine's answers."""

    product: EngineProduct
    version: str
    api_version: str
    operating_system: str
    architecture: str
    kernel: str
    storage_driver: str
    cgroup_version: str
    root: str  # the folder on its own machine with images, containers and volumes
    cpus: int
    limits_memory: bool
    limits_pids: bool
    limits_cpu: bool
    seccomp: bool
    runtimes: tuple[str, ...] = ()
    """Programs that run its containers, by the names that `docker run --runtime` takes."""
    labels_files: bool = False  # whether SELinux keeps containers from reading our files
    remaps_users: bool = False
    """Whether root of a container is a user without rights on the engine's machine."""

    @property
    def closes_user_namespaces(self) -> bool:
        """Whether its seccomp profile forbids user namespaces; Podman's profile does not."""
        return self.seccomp and self.product is EngineProduct.DOCKER

    @property
    def user_processes(self) -> int | None:
        """The limit for the processes of a container's user; None: no limit.

        Podman as root needs it, since its default exceeds its own limit.
        """
        return _USER_PROCESSES if self.product is EngineProduct.PODMAN else None

    @property
    def promises(self) -> frozenset[Promise]:
        """The promises that it keeps with its kernel."""
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
        """Its isolation, in words."""
        seccomp = "seccomp" if self.seccomp else "no seccomp"
        if self.seccomp and not self.closes_user_namespaces:
            seccomp = "seccomp that lets user namespaces be made"
        users = "users remapped" if self.remaps_users else "users not remapped"
        return f"container, no capabilities except for root, no new privileges, {seccomp}, {users}"


def read_facts(info: Mapping[str, object], version: Mapping[str, object]) -> EngineFacts:
    """The facts in an engine's answers to `info` and `version`."""

    def fact(name: str) -> str:
        return str(info.get(name) or "unknown")

    options = info.get("SecurityOptions")
    security = options if isinstance(options, list) else []
    components, runtimes = version.get("Components"), info.get("Runtimes")
    names = str(components).lower() if isinstance(components, list) else ""
    return EngineFacts(
        product=EngineProduct.PODMAN if "podman" in names else EngineProduct.DOCKER,
        version=fact("ServerVersion"),
        api_version=str(version.get("ApiVersion") or "unknown"),
        operating_system=fact("OperatingSystem"),
        architecture=fact("Architecture"),
        kernel=fact("KernelVersion"),
        storage_driver=fact("Driver"),
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        root=str(info.get("DockerRootDir") or ""),
        cpus=int(str(info.get("NCPU") or 1)),
        limits_memory=bool(info.get("MemoryLimit")),
        limits_pids=bool(info.get("PidsLimit")),
        limits_cpu=bool(info.get("CpuCfsQuota")),
        seccomp=any("seccomp" in str(option) for option in security),
        runtimes=tuple(sorted(runtimes)) if isinstance(runtimes, dict) else (),
        labels_files=any("name=selinux" in str(option) for option in security),
        remaps_users=any(
            word in str(option) for option in security for word in ("name=userns", "name=rootless")
        ),
    )


class DockerNotFoundError(SandboxError):
    """The engine does not have this container, image or path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """The facts about an image."""

    id: str
    env: tuple[str, ...]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    workdir: str = ""


class _ClientsOfThread(dict[int, DockerApi]):
    """The clients of one thread, by the seconds that they wait for an answer.

    They are closed at the end of their thread, which drops this object: they are parts of cycles,
    which the garbage collector finds much later, and hundreds of connections could accumulate.
    """

    def __del__(self) -> None:
        for client in self.values():
            client.close()


class _Clients(threading.local):
    def __init__(self) -> None:
        self.by_seconds = _ClientsOfThread()


class Engine:
    """A Docker engine; thread-safe, since each thread has its own clients."""

    def __init__(self, base_url: str | None = None) -> None:
        self.address = connection.find_address(base_url, os.environ)
        url = self.address.url or ""
        self._tunnel = connection.SshTunnel(url) if url.startswith("ssh://") else None
        self._version = ".".join(map(str, OLDEST_API))  # until the engine's own version is known
        self._greeting: dict[str, object] = {}  # its first answer
        self._clients = _Clients()

    @classmethod
    def connect(cls, base_url: str | None = None) -> "Engine":
        """An engine that answers.

        Raises:
            UnavailableError: no engine answers, or it is too old.
        """
        engine = cls(base_url)
        try:
            engine._check_socket()
            engine._greeting = engine._client(_FIRST_SECONDS).version(api_version=False)
            engine._version = str(engine._greeting["ApiVersion"])
        except (DockerException, OSError) as fault:
            where = engine.address.url or "its usual socket"
            if isinstance(fault, connection.SshError):
                reason = str(fault)
            elif engine._tunnel is not None and (message := engine._tunnel.complaint()):
                reason = f"{message}: check that its socket exists, and that you may use it"
            else:
                reason = connection.explain_refusal(fault)
            raise UnavailableError(f"no Docker engine answers at {where}: {reason}") from fault
        if tuple(int(part) for part in engine._version.split(".")) < OLDEST_API:
            raise UnavailableError(
                f"the engine has only API {engine._version}: install Docker 20.10 or newer"
            )
        return engine

    @contextmanager
    def api(self, doing: str, *, moves_files: bool = False) -> Iterator[DockerApi]:
        """Calls to the engine; its errors become ours.

        Args:
            doing: The purpose, which completes a message that starts with "cannot".
            moves_files: Whether the answer may take long.

        Raises:
            DockerNotFoundError: the engine does not have the requested object.
            SandboxError: the engine refused, or it is lost.
        """
        try:
            yield self._client(_LONG_SECONDS if moves_files else _SHORT_SECONDS)
        except (NotFound, ImageNotFound) as fault:
            raise DockerNotFoundError(f"cannot {doing}: {_explain(fault)}") from fault
        except (DockerException, OSError) as fault:
            raise SandboxError(f"cannot {doing}: {_explain(fault)}") from fault

    def require_answer(self) -> None:
        """Check quickly that it still answers, since its death only ends streams.

        Raises:
            SandboxError: it died, or it is frozen.
        """
        try:
            self._check_socket()
            self._client(_PING_SECONDS).ping()
        except (DockerException, OSError) as fault:
            raise SandboxError(f"the engine does not answer any more: {fault}") from fault

    @cached_property
    def facts(self) -> EngineFacts:
        """Its facts about itself."""
        with self.api("read the engine's facts") as api:
            return read_facts(api.info(), self._greeting or api.version())

    def image(self, name: str) -> ImageFacts:
        """An existing image by its name or id.

        Raises:
            DockerNotFoundError: it does not exist.
        """
        with self.api(f"find the image {name}") as api:
            found = api.inspect_image(name)  # type: ignore[no-untyped-call]  # the stubs' gap
        config = found.get("Config") or {}
        return ImageFacts(
            id=str(found["Id"]),
            env=tuple(config.get("Env") or ()),
            labels=MappingProxyType(dict(config.get("Labels") or {})),
            entrypoint=tuple(config.get("Entrypoint") or ()),
            user=str(config.get("User") or ""),
            workdir=str(config.get("WorkingDir") or ""),
        )

    def _check_socket(self) -> None:
        """Connect to a local socket first: if it fails, the SDK would leave a socket open."""
        if self.address.is_local and os.name == "posix":
            connection.connect_to_socket(self.address.socket, _PING_SECONDS)

    def _client(self, seconds: int) -> DockerApi:
        url = self.address.url if self._tunnel is None else f"unix://{self._tunnel.socket()}"
        client = self._clients.by_seconds.get(seconds)
        if client is None:
            tls = self.address.tls(os.environ)
            client = DockerApi(url, version=self._version, timeout=seconds, tls=tls or False)
            # For a socket, the SDK treats every URL as a server of its own, and keeps connections
            # to the last 25 of them. Its own setting for this number is only for ssh.
            adapter = client.adapters.get(_BY_SOCKET)
            if isinstance(adapter, UnixHTTPAdapter):
                path = f"http+unix://{adapter.socket_path}"
                few = UnixHTTPAdapter(path, seconds, pool_connections=_ADDRESS_POOL)
                client.mount(_BY_SOCKET, few)
            if tls is not None or self.address.is_local:
                # REQUESTS_CA_BUNDLE would replace the engine's CA. A socket needs nothing from the
                # environment, and reading it takes half of a short call.
                client.trust_env = False
            self._clients.by_seconds[seconds] = client
        return client


def _explain(fault: Exception) -> str:
    text = str(fault.explanation or fault) if isinstance(fault, APIError) else str(fault)
    if "no space left on device" in text.lower():
        return f"the engine's disk is full ({text}); `docker system df` shows what uses it"
    return text
