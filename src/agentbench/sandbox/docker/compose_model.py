"""A Compose project: the content of a task's file, checked and limited to one attempt.

Compose itself resolves variables, `extends` and short forms. A setting that is not listed here is
refused, so that no setting can give a service more of this machine than the sandbox has.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import ServiceError
from agentbench.sandbox.docker.container import ContainerPlan, NetworkAttachment
from agentbench.sandbox.docker.networks import (
    NO_DNS,
    QUICK_DNS,
    JsonTable,
    SharedNetwork,
    holder_of,
)
from agentbench.sandbox.interface import MOUNTS, RESULTS, WORKSPACE, Limits
from agentbench.tasks.compose_file import MAIN


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

    # The limits that it declares hold for each container; these are for all of them.
    @property
    def replicas(self) -> int:
        return self.scale or self.deploy.replicas or 1

    @property
    def memory_mib(self) -> float | None:
        found = self.mem_limit or self.deploy.resources.limits.memory
        return None if found is None else found * self.replicas / (1 << 20)

    @property
    def cores(self) -> float | None:
        found = self.cpus or self.deploy.resources.limits.cpus
        return None if found is None else found * self.replicas


class Config(_Read):
    """The output of `docker compose config`."""

    services: dict[str, JsonTable]
    networks: dict[str, JsonTable] = Field(default_factory=dict)
    volumes: dict[str, JsonTable] = Field(default_factory=dict)
    secrets: dict[str, JsonTable] = Field(default_factory=dict)
    configs: dict[str, JsonTable] = Field(default_factory=dict)


SERVICE_LABEL = "com.docker.compose.service"

_PASSED = frozenset(
    {"cap_add", "cap_drop", "command", "configs", "depends_on", "domainname", "entrypoint",
     "environment", "expose", "extra_hosts", "group_add", "healthcheck", "hostname", "init",
     "ipc", "links", "mac_address", "networks", "network_mode", "platform", "read_only", "restart",
     "secrets", "security_opt", "shm_size", "stdin_open", "stop_grace_period", "stop_signal",
     "sysctls", "tmpfs", "tty", "user", "volumes", "working_dir"}
)  # fmt: skip
_REPLACED = frozenset(
    {"annotations", "attach", "blkio_config", "build", "container_name", "cpu_count",
     "cpu_percent", "cpu_period", "cpu_quota", "cpu_rt_period", "cpu_rt_runtime", "cpu_shares",
     "cpus", "cpuset", "deploy", "develop", "dns", "dns_opt", "dns_search", "image", "labels",
     "logging", "mem_limit", "mem_reservation", "mem_swappiness", "memswap_limit", "oom_score_adj",
     "pids_limit", "ports", "profiles", "pull_policy", "scale", "storage_opt", "ulimits"}
)  # fmt: skip
_NOT_FOR_MAIN = frozenset({"ipc", "links", "network_mode", "read_only", "sysctls"})
_SYSCTLS = (
    "fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm", "net.core.", "net.ipv4.tcp_",
    "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
)  # fmt: skip
"""These settings affect only a container, and open no way out of it."""

_BUILD = frozenset({"args", "context", "dockerfile", "dockerfile_inline", "shm_size", "target"})
_BUILD_IGNORED = frozenset({"cache_from", "cache_to", "labels", "no_cache", "pull", "tags"})
_USUAL_CAPABILITIES = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
     "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)  # fmt: skip
_ENDED = "service_completed_successfully"
_LOG_OPTIONS: JsonValue = {"max-size": "4m", "max-file": "2"}  # the oldest file is dropped whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSettings:
    """The properties that distinguish the project of one sandbox."""

    name: str
    labels: Mapping[str, str]
    images: Mapping[str, str]  # by service
    limits: Limits  # for all services together; processes and file sizes: for each
    network_options: Mapping[str, str]
    network: bool  # whether it reaches a public network
    shared: SharedNetwork | None = None

    def full_name(self, name: str) -> str:
        return f"{self.name}_{name}"


class ComposeModel:
    """The checked services of a compose file."""

    def __init__(self, file: Path, output: str) -> None:
        """Check the output of `docker compose config`.

        Raises:
            ServiceError: a setting is refused; the message names the file and the field of each
                one.
        """
        self.file = file
        try:
            self._config = Config.model_validate_json(output)
            self.services = {
                name: Service.model_validate(table) for name, table in self._config.services.items()
            }
        except ValidationError as error:
            faults = [describe_validation_error(each, Config) for each in error.errors()]
        else:
            faults = [*self._faults()]
        if faults:
            raise ServiceError("\n".join(f"{file}: {fault}" for fault in faults))

    @property
    def other_services(self) -> Mapping[str, Service]:
        return {name: each for name, each in self.services.items() if name != MAIN}

    def shared_files(self, service: Service) -> Iterator[tuple[str, str]]:
        """The files of the service's secrets and configs: the path and the target of each."""
        kinds = (
            (self._config.secrets, service.secrets, "/run/secrets"),
            (self._config.configs, service.configs, "/"),
        )
        for tables, used, folder in kinds:
            for each in used:
                target = Path(folder, each.target or each.source)
                yield str(tables[each.source].get("file", "")), str(target)

    def may_end(self, name: str) -> bool:
        """Whether another service waits for the end of a service."""
        conditions = (each.depends_on.get(name) for each in self.services.values())
        return any(each is not None and each.condition == _ENDED for each in conditions)

    def must_end(self, name: str) -> bool:
        """Whether the sandbox needs the end of a service instead of its start."""
        needed = self.services[MAIN].depends_on.get(name)
        return needed is not None and needed.condition == _ENDED

    def main_networks(self) -> Mapping[str, Network]:
        used = {name for each in self.other_services.values() for name in each.networks}
        own = self.services[MAIN].networks
        return {name: each or Network() for name, each in own.items() if name in used}

    def document(self, project: ProjectSettings) -> Mapping[str, object]:
        """The compose file of one project, without the sandbox."""
        limits, labels = project.limits, dict(project.labels)
        declared = {name: each.memory_mib for name, each in self.other_services.items()}
        memory = self._shares(declared, limits.memory_mib, "MiB of memory", "memory_mib")
        declared = {name: each.cores for name, each in self.other_services.items()}
        cores = self._shares(declared, limits.cpus, "CPUs", "cpus")
        tables: dict[str, JsonTable] = {
            "services": {
                name: self._service(name, project, int(memory[name] * (1 << 20)), cores[name])
                for name in self.other_services
            },
            "networks": {
                name: {
                    "name": project.full_name(name),
                    "labels": {**labels},
                    "internal": not project.network or bool(table.get("internal")),
                    "driver_opts": {**project.network_options},
                }
                for name, table in self._config.networks.items()
            },
            "volumes": {
                name: {"name": project.full_name(name), "labels": {**labels}}
                for name in self._config.volumes
            },
            "secrets": {**self._config.secrets},
            "configs": {**self._config.configs},
        }
        if project.shared is not None:
            project.shared.add_to(tables, project.name, labels)
        return {"name": project.name, **tables}

    def _service(self, name: str, project: ProjectSettings, memory: int, cores: float) -> JsonTable:
        raw = self._config.services[name]
        table = {key: value for key, value in raw.items() if key in _PASSED}
        if isinstance(needs := table.get("depends_on"), dict):
            table["depends_on"] = {each: how for each, how in needs.items() if each != MAIN}
        mounts = raw.get("volumes")
        # The task's files are read-only, and have to exist for the engine.
        protection: JsonTable = {"read_only": True, "bind": {"create_host_path": False}}
        table["volumes"] = [
            {**each, **(protection if each.get("type") == "bind" else {})}
            for each in (mounts if isinstance(mounts, list) else ())
            if isinstance(each, dict)
        ]
        if not project.network and "network_mode" not in table:
            table |= {"dns": [NO_DNS], "dns_opt": [*QUICK_DNS]}
        replicas = self.services[name].replicas
        dropped, ulimits = raw.get("cap_drop"), raw.get("ulimits")
        disk = project.limits.disk_mib << 20
        return {
            **table,
            "image": project.images[name],
            "labels": dict(project.labels),
            # With NET_RAW, it could reach the engine's machine through an internal network.
            "cap_drop": [*(dropped if isinstance(dropped, list) else []), "NET_RAW"],
            "pull_policy": "never",
            "logging": {"driver": "json-file", "options": _LOG_OPTIONS},
            "scale": replicas,
            "mem_limit": memory // replicas,
            "memswap_limit": memory // replicas,
            "cpus": cores / replicas,
            "pids_limit": project.limits.pids,
            "ulimits": {
                **(ulimits if isinstance(ulimits, dict) else {}),
                "core": 0,
                "fsize": {"soft": disk, "hard": disk},
            },
        }

    def _shares(
        self, declared: Mapping[str, float | None], limit: float, unit: str, key: str
    ) -> dict[str, float]:
        rest = limit - sum(each or 0 for each in declared.values())
        sharing = sum(each is None for each in declared.values())
        if rest < 0 or (sharing and not rest):
            raise ServiceError(
                f"{self.file}: its services declare {limit - rest:g} {unit}, and [environment] "
                f"{key} allows {limit:g} for all of them: raise it, or lower theirs"
            )
        return {name: rest / sharing if each is None else each for name, each in declared.items()}

    def _faults(self) -> Iterator[str]:
        folder = self.file.resolve().parent
        for name, service in self.services.items():
            for key, fault in _service_faults(name, self._config.services[name], service, folder):
                yield f"services.{name}.{key}: {fault}"
        for path, target in self.shared_files(self.services[MAIN]):
            if not path:  # only Compose has the content
                name = target.rpartition("/")[2]
                yield f"services.{MAIN}.secrets: {name} is not a file; give secrets and configs one"
        config = self._config
        for kind, tables in (("networks", config.networks), ("volumes", config.volumes)):
            for name, table in tables.items():
                yield from (f"{kind}.{name}.{fault}" for fault in _shared_faults(table))
        for kind, tables in (("secrets", config.secrets), ("configs", config.configs)):
            for name, table in tables.items():
                file = table.get("file")
                if table.get("external") or (file and not _is_below(Path(str(file)), folder)):
                    yield f"{kind}.{name}: is not a file below {folder}"


def _service_faults(
    name: str, raw: JsonTable, service: Service, folder: Path
) -> Iterator[tuple[str, str]]:
    known = _PASSED | _REPLACED if name != MAIN else (_PASSED | _REPLACED) - _NOT_FOR_MAIN
    for key in (key for key, value in raw.items() if value and key not in known):
        yield key, "is not supported, since services get no more of the machine than the sandbox"
    yield from _value_faults(service)
    for mount in service.volumes:
        yield from (("volumes", fault) for fault in _mount_faults(name, mount, folder))
    yield from _build_faults(service.build or {}, folder)
    if name != MAIN and service.image is None and service.build is None:
        yield "image", "is missing; give an image or a build"


def _value_faults(service: Service) -> Iterator[tuple[str, str]]:
    for each in service.cap_add:
        if each.upper().removeprefix("CAP_") not in _USUAL_CAPABILITIES:
            yield "cap_add", f"{each} is refused: it is not usual, or sends forged packets"
    for option in service.security_opt:
        if not option.startswith("no-new-privileges"):
            yield "security_opt", f"{option} is refused; give no-new-privileges or nothing"
    if not (service.ipc or "private").startswith(("private", "shareable", "service:")):
        yield "ipc", f"{service.ipc} is refused; give private, shareable or service:"
    for key in service.sysctls:
        if not key.startswith(_SYSCTLS):
            yield "sysctls", f"{key} is refused; give one of {', '.join(_SYSCTLS)}"
    mode = service.network_mode or "none"
    if mode != "none" and (not mode.startswith("service:") or mode == f"service:{MAIN}"):
        yield "network_mode", f"{mode} is refused; give networks, or service: and another service"


def _mount_faults(name: str, mount: Mount, folder: Path) -> Iterator[str]:
    if mount.type == "bind":
        source = Path(mount.source)
        if not _is_below(source, folder) or source.resolve() == folder:
            yield f"{mount.source} is refused; give a path below {folder}"
        elif not source.exists():
            yield f"{mount.source} does not exist"
    elif mount.type not in {"volume", "tmpfs"}:
        yield f"the type {mount.type} is not supported; give a named volume or a path"
    if name == MAIN and any(map(Path(mount.target).is_relative_to, (WORKSPACE, RESULTS, MOUNTS))):
        yield f"{mount.target} is a folder of agentbench"


def _build_faults(build: JsonTable, folder: Path) -> Iterator[tuple[str, str]]:
    for key in (
        key for key, value in build.items() if value and key not in _BUILD | _BUILD_IGNORED
    ):
        yield f"build.{key}", "is not supported"
    context = Path(str(build.get("context", folder)))
    for path in (context, context / str(build.get("dockerfile", ""))):
        if not _is_below(path, folder):
            yield "build", f"{path} is not below {folder}"
            break


def _shared_faults(table: JsonTable) -> Iterator[str]:
    for key in ("external", "driver_opts", "enable_ipv6"):
        if table.get(key):
            yield f"{key}: is refused, since each attempt has its own"
    if table.get("driver") not in (None, "bridge", "local"):
        yield f"driver: {table['driver']} is refused; leave it out"
    ipam = table.get("ipam")
    if isinstance(ipam, dict) and ipam:
        yield "ipam: is refused, since the networks of several attempts would overlap"


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def build_inputs(build: JsonTable) -> JsonTable:
    """The settings of a build that decide its result."""
    return {key: value for key, value in build.items() if key in _BUILD}


_OWN_ULIMITS = frozenset({"core", "fsize"})  # they protect the machine
_SLEEPERS = frozenset({"sleep", "tail"})
_SHELLS = frozenset({"sh", "bash"})


def with_main(plan: ContainerPlan, model: ComposeModel, project: ProjectSettings) -> ContainerPlan:
    """The plan of a sandbox in the project's networks, with the settings of `main`."""
    main = model.services[MAIN]
    holder = None if project.shared is None else holder_of(project.name)
    networks = tuple(
        NetworkAttachment(name=project.full_name(name), aliases=(MAIN, *network.aliases))
        for name, network in model.main_networks().items()
    )
    # Compose doubles each dollar sign in its output.
    env = {name: _plain(value or "") for name, value in main.environment.items()}
    proxies = dict(plan.env)
    # A proxy of this machine knows nothing of services.
    if any(name.lower().endswith("_proxy") for name in proxies):
        for variable in ("no_proxy", "NO_PROXY"):
            known = proxies.get(variable)
            proxies[variable] = ",".join([*([known] if known else []), *model.other_services])
    ulimits: list[Mapping[str, object]] = []
    for name, value in main.ulimits.items():
        limits = value if isinstance(value, dict) else {"soft": value, "hard": value}
        if name not in _OWN_ULIMITS:
            ulimits.append({"Name": name, "Soft": limits.get("soft"), "Hard": limits.get("hard")})
    tmpfs = (each.partition(":")[::2] for each in main.tmpfs)
    mounted = ((each.target, "") for each in main.volumes if each.type == "tmpfs")
    return replace(
        plan,
        env=proxies,
        main_env=env,
        networks=networks if holder is None else (),
        network_holder=holder,
        shared=(
            *_volumes(main, project),
            *(_bind(source, target) for source, target in model.shared_files(main)),
        ),
        hostname=main.hostname or plan.hostname,
        dropped=main.cap_drop,
        tmpfs=dict((*tmpfs, *mounted)),
        extra={
            # Docker accepts no extra hosts in a shared network.
            "ExtraHosts": [each.replace("=", ":", 1) for each in main.extra_hosts if not holder],
            "GroupAdd": [*main.group_add],
            **({"ShmSize": main.shm_size} if main.shm_size else {}),
        },
        ulimits=tuple(ulimits),
        command=_command(main),
        command_user=main.user,
        command_folder=main.working_dir,
    )


def _plain(text: str) -> str:
    return text.replace("$$", "$")


def _volumes(main: Service, project: ProjectSettings) -> Iterator[Mapping[str, object]]:
    for each in main.volumes:
        if each.type == "bind":
            yield _bind(each.source, each.target)
        elif each.type == "volume":
            yield {
                "Type": "volume",
                "Source": project.full_name(each.source) if each.source else "",
                "Target": each.target,
                "ReadOnly": each.read_only,
                "VolumeOptions": {"Labels": dict(project.labels)},
            }


def _bind(source: str, target: str) -> Mapping[str, object]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}


def _command(main: Service) -> tuple[str, ...]:
    # A main service often has a command that only keeps its container alive; ours does that itself.
    argv = tuple(map(_plain, (*(main.entrypoint or ()), *(main.command or ()))))
    words = " ".join(argv).removeprefix("sh -c ").removeprefix("bash -c ").split()
    program = words[0].rpartition("/")[2] if words else ""
    is_idle = program in _SLEEPERS and {";", "&&"}.isdisjoint(words)
    return () if is_idle or (program in _SHELLS and len(words) == 1) else argv
