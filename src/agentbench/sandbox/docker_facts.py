"""What an engine says about itself and its machine, and what it cannot keep there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from agentbench.sandbox.interface import Promise

_USER_PROCESSES = 16_384  # less than any machine lets root have, more than all attempts need


class Product(StrEnum):
    """Who answers by Docker's API."""

    DOCKER = "docker"
    PODMAN = "podman"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """An engine, in the words of its answers."""

    product: Product
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
        return self.seccomp and self.product is Product.DOCKER

    @property
    def user_processes(self) -> int | None:
        """What to bound the processes of a container's user by; None: nothing.

        Podman as root asks for more than it may have itself, unless it is told.
        """
        return _USER_PROCESSES if self.product is Product.PODMAN else None

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


def _product(version: Mapping[str, object]) -> Product:
    components = version.get("Components")
    named = str(components).lower() if isinstance(components, list) else ""
    return Product.PODMAN if "podman" in named else Product.DOCKER
