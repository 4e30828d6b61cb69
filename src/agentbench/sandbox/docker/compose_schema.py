"""The output of `docker compose config`, as far as we read it."""

from pydantic import ConfigDict, Field, JsonValue

from agentbench.core.schema import Schema

JsonTable = dict[str, JsonValue]


class _Read(Schema):
    """A part of Compose's output; it also has keys that need no check."""

    model_config = ConfigDict(extra="ignore")


class Mount(_Read):
    """A volume, or a file or folder of the task."""

    type: str
    target: str
    source: str = ""
    read_only: bool = False


class Network(_Read):
    """How a service is attached to a network."""

    aliases: tuple[str, ...] = ()


class FileReference(_Read):
    """A secret or a config that a service uses."""

    source: str
    target: str = ""


class _Dependency(_Read):
    condition: str = ""


class _Resources(_Read):
    cpus: float | None = None
    memory: int | None = None


class _DeployedLimits(_Read):
    limits: _Resources = _Resources()


class _Deployment(_Read):
    replicas: int | None = None
    resources: _DeployedLimits = _DeployedLimits()


class Service(_Read):
    """The settings of a service that we read."""

    image: str | None = None
    build: JsonTable | None = None
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    user: str | None = None
    hostname: str | None = None
    working_dir: str | None = None
    ipc: str | None = None
    scale: int | None = None
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    extra_hosts: tuple[str, ...] = ()
    group_add: tuple[str, ...] = ()
    shm_size: int | None = None
    tmpfs: tuple[str, ...] = ()
    sysctls: dict[str, JsonValue] = Field(default_factory=dict)
    ulimits: dict[str, JsonTable | int] = Field(default_factory=dict)
    secrets: tuple[FileReference, ...] = ()
    configs: tuple[FileReference, ...] = ()
    security_opt: tuple[str, ...] = ()
    network_mode: str | None = None
    networks: dict[str, Network | None] = Field(default_factory=dict)
    volumes: tuple[Mount, ...] = ()
    depends_on: dict[str, _Dependency] = Field(default_factory=dict)
    environment: dict[str, str | None] = Field(default_factory=dict)
    mem_limit: int | None = None
    cpus: float | None = None
    deploy: _Deployment = _Deployment()

    @property
    def replicas(self) -> int:
        return self.scale or self.deploy.replicas or 1

    @property
    def memory_mib(self) -> float | None:
        """The limit that it declares, for all its containers."""
        found = self.mem_limit or self.deploy.resources.limits.memory
        return None if found is None else found * self.replicas / (1 << 20)

    @property
    def cores(self) -> float | None:
        """The limit that it declares, for all its containers."""
        found = self.cpus or self.deploy.resources.limits.cpus
        return None if found is None else found * self.replicas


class Config(_Read):
    """The output of `docker compose config`."""

    services: dict[str, JsonTable]
    networks: dict[str, JsonTable] = Field(default_factory=dict)
    volumes: dict[str, JsonTable] = Field(default_factory=dict)
    secrets: dict[str, JsonTable] = Field(default_factory=dict)
    configs: dict[str, JsonTable] = Field(default_factory=dict)
