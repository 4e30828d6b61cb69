"""The options of a container: its limits, capabilities, volumes, mounts and environment."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.sandbox import interface
from agentbench.sandbox.docker.engine import DockerApi
from agentbench.sandbox.docker.main_process import MAIN_PROCESS
from agentbench.sandbox.docker.private_files import HOSTS, MASKED_PATHS
from agentbench.sandbox.docker.public_network import ENGINES_OWN
from agentbench.sandbox.ownership import ProcessOwner, labels_of
from agentbench.tasks.users import AGENT_USER, ROOT_USER, UserName

LOG_FOLDERS = ("/logs/agent", "/logs/artifacts", "/logs/verifier")
SCRIPT_FOLDERS = ("/tests", "/solution", *LOG_FOLDERS)
"""The folders of input and output for scripts of tasks with their own tests."""

ROOT_HOME = PurePosixPath("/root")

NESTING_FOLDER = interface.MOUNTS / "nesting"
"""The scripts and programs of a container that holds sandboxes (`nesting.py`)."""
NESTING_READY = interface.RESULTS / "nests"
"""A file that exists after a sandbox has worked in the container."""
_NESTING_CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_ADMIN", "SETGID", "SETPCAP",
    "SETUID", "SYS_ADMIN",
)  # fmt: skip
_TRY_NESTING = f"""
echo 0 | sh {NESTING_FOLDER}/enter {interface.RESULTS}/try / true > /dev/null 2>&1 &&
  : > {NESTING_READY}
"""

QUICK_DNS = ("ndots:0", "timeout:1", "attempts:1")
"""Options of containers without a public network: resolving a public name fails after a second."""

NO_DNS = "192.0.2.1"  # a documentation address: no request leaves the engine's machine
_TMP = "/tmp"
_OWN_PROCESSES = 3  # init, main process and the shell around a command
_OTHER_RUNTIME = 16  # times as many processes, since gVisor adds its own to each
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_VENV_BIN = f"{interface.VENV}/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAttachment:
    """A network of services, and the container's names in it."""

    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """The settings of a container to create."""

    image: str
    image_env: tuple[str, ...]
    limits: interface.Limits
    owner: ProcessOwner
    network: bool = False
    public_network: str = ENGINES_OWN  # for `network`
    networks: tuple[NetworkAttachment, ...] = ()  # of its services
    network_holder: str | None = None  # the container whose network it shares
    shared: tuple[Mapping[str, object], ...] = ()  # mounts of its services, in the engine's terms
    bound: tuple[interface.ReadOnlyMount, ...] = ()  # mounted from the host
    copied: tuple[interface.ReadOnlyMount, ...] = ()  # copied, since the user could not read them
    replaced: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))
    """Host files that replace the container's own, by their paths inside."""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables for commands only; the container's own ones would become part of its snapshots."""
    workspace: PurePosixPath = interface.WORKSPACE
    own_workspace: bool = False  # whether it is a folder of the image
    entrypoint: str | None = None  # the label of its image
    use: interface.SandboxUse = interface.ORDINARY_USE
    """A plain workspace is a volume with a copy, and not a part of the layers."""
    main_env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Variables of the service `main`, for commands."""
    hostname: str = "sandbox"
    dropped: tuple[str, ...] = ()  # capabilities
    tmpfs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    ulimits: tuple[Mapping[str, object], ...] = ()
    extra: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    """Further settings of the service `main`, in the engine's terms."""
    command: tuple[str, ...] = ()  # runs alongside the commands of the sandbox
    command_user: UserName | None = None
    command_folder: str | None = None
    user_processes: int | None = None  # of its user in all containers; None: the engine's default

    @property
    def never_has_network(self) -> bool:
        """Whether it has no network, nor gets one later."""
        gets_one = self.network or self.use.changes_network or self.use.services is not None
        return not gets_one and not self.networks and self.network_holder is None

    @property
    def network_left_out(self) -> bool:
        """Whether the engine does not set up a network, since our files give it its names.

        The engine's set-up takes half of the time of a start. Without it, the runtime gives the
        container an own network namespace with a loopback interface.
        """
        return self.never_has_network and HOSTS in self.replaced

    @property
    def keeps_processes(self) -> bool:
        """Whether processes continue after the command that started them."""
        return self.use.lasting or bool(self.command)

    def is_in_memory(self, path: PurePosixPath) -> bool:
        """Whether a path is in a folder that exists only in memory while the container runs."""
        return any(path.is_relative_to(folder) for folder in self.memory_folders(0))

    def memory_folders(self, memory: int) -> dict[str, str]:
        """The folders in memory with their options; /tmp has at most half of some bytes of memory.

        Files in a full /tmp must be removable. A workspace in /tmp is part of the layers instead:
        memory would hide the image's files, and no snapshot would have it.
        """
        if self.workspace.is_relative_to(_TMP):
            return {**self.tmpfs}
        return {**self.tmpfs, _TMP: f"exec,mode=1777,size={memory // 2}"}

    @property
    def owner_id(self) -> int:
        """The owner of files written for commands: root, unless all commands are the agent's."""
        return interface.USER_ID if self.limits.user == AGENT_USER else 0


def account_of(user: UserName) -> str:
    """A user as the engine understands it."""
    own = {AGENT_USER: f"{interface.USER_ID}:{interface.USER_ID}", ROOT_USER: "0:0"}
    return own.get(user, user)


def variables_of(user: UserName) -> dict[str, str]:
    """The variables that name a user and its home; the engine finds the home of other users."""
    names = {AGENT_USER: ("agentbench", interface.HOME), ROOT_USER: ("root", ROOT_HOME)}
    if user not in names:
        return {}
    name, home = names[user]
    return {"HOME": str(home), "USER": name, "LOGNAME": name}


def readable_inside(mount: interface.ReadOnlyMount) -> bool:
    """Whether the sandbox's user may read it in place; for a folder, its content is not checked."""
    status = mount.source.stat()
    if status.st_uid == interface.USER_ID:
        return True
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return status.st_mode & needed == needed


def create_container(api: DockerApi, name: str, plan: ContainerPlan, cpus: int) -> str:
    """Create a container without starting it; returns its id."""
    networking = None
    if plan.networks:  # the engine refuses several at the creation
        first = plan.networks[0]
        endpoints = {first.name: api.create_endpoint_config(aliases=[*first.aliases])}
        # The stubs take one endpoint, the SDK takes all of them by the names of their networks.
        networking = api.create_networking_config(endpoints)  # type: ignore[arg-type]
    created = api.create_container(
        plan.image,
        name=name,
        entrypoint=["/bin/sh", "-c", (_TRY_NESTING if plan.use.nests else "") + MAIN_PROCESS],
        command=[],
        user="0:0",
        working_dir="/",
        hostname=plan.hostname if plan.network_holder is None else None,
        stdin_open=True,
        environment=_environment(plan),
        labels=labels_of("sandbox", plan.owner),
        healthcheck={"test": ["NONE"]},
        network_disabled=plan.network_left_out,
        host_config=_host_config(plan, cpus),
        networking_config=networking,
    )
    for each in plan.networks[1:]:
        api.connect_container_to_network(name, each.name, aliases=[*each.aliases])
    return str(created["Id"])


def _host_config(plan: ContainerPlan, cpus: int) -> dict[str, object]:
    limits = plan.limits
    memory = limits.memory_mib * 1024 * 1024
    disk = limits.disk_mib * 1024 * 1024
    most = plan.user_processes
    # Root has Docker's default capabilities except one. No user can gain any, such as by a setuid
    # bit.
    is_root = limits.user != AGENT_USER
    user_limits = [] if most is None else [{"Name": "nproc", "Soft": most, "Hard": most}]
    own = [
        {"Name": "core", "Soft": 0, "Hard": 0},
        {"Name": "fsize", "Soft": disk, "Hard": disk},
        {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
        *user_limits,
    ]
    named = {each["Name"] for each in plan.ulimits}
    network: dict[str, object] = {"NetworkMode": "none"}
    may_leave = plan.network or plan.use.changes_network
    if plan.network_holder is not None:
        network = {"NetworkMode": f"container:{plan.network_holder}"}
    elif plan.networks:
        closed = {} if may_leave else {"Dns": [NO_DNS], "DnsOptions": [*QUICK_DNS]}
        network = {"NetworkMode": plan.networks[0].name, **closed}
    elif may_leave:
        network = {"NetworkMode": plan.public_network}
    # The privileges of the main process; the user of commands gets none of them.
    added, security = ([] if is_root else ["KILL"]), ["no-new-privileges"]
    if plan.use.nests:
        # Sandboxes in it get their own filter. The default profiles do not let bubblewrap mount.
        added = [*_NESTING_CAPABILITIES]
        security += ["seccomp=unconfined", "apparmor=unconfined"]
    return {
        "Init": True,
        # Raw packets could deceive other containers.
        "CapDrop": ["NET_RAW", *plan.dropped] if is_root else ["ALL"],
        "CapAdd": added,
        "SecurityOpt": security,
        **network,
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(min(limits.cpus, cpus) * 1e9),
        "PidsLimit": limits.pids * (1 if limits.runtime is None else _OTHER_RUNTIME)
        + _OWN_PROCESSES,
        "Ulimits": [*(each for each in own if each["Name"] not in named), *plan.ulimits],
        "Tmpfs": plan.memory_folders(memory),
        "LogConfig": {"Type": "none"},
        **({"MaskedPaths": [*MASKED_PATHS]} if limits.runtime is None else {}),
        "Runtime": limits.runtime,
        "Mounts": _mounts(plan),
        **plan.extra,
    }


def _mounts(plan: ContainerPlan) -> list[dict[str, object]]:
    """The volumes and the bind mounts, in the engine's own terms."""
    folders = [interface.RESULTS, *([interface.MOUNTS] if plan.copied else [])]
    if plan.use.plain_workspace:
        folders.append(plan.workspace)
    labels = labels_of("sandbox", plan.owner)
    volumes: list[dict[str, object]] = [
        {"Type": "volume", "Target": str(folder), "VolumeOptions": {"Labels": labels}}
        for folder in folders
        if str(folder) not in {each["Target"] for each in plan.shared}
    ]
    sources = {str(interface.MOUNTS / mount.name): mount.source for mount in plan.bound}
    binds: list[dict[str, object]] = [
        {"Type": "bind", "Source": os.path.realpath(source), "Target": target, "ReadOnly": True}
        for target, source in {**sources, **plan.replaced}.items()
    ]
    return [*volumes, *binds, *map(dict, plan.shared)]


def _environment(plan: ContainerPlan) -> dict[str, str]:
    image_env = dict(item.partition("=")[::2] for item in plan.image_env)
    path = image_env.get("PATH") or _DEFAULT_PATH
    if _VENV_BIN not in path.split(":"):
        path = f"{_VENV_BIN}:{path}"
    return {
        "PATH": path,
        # A command of another user gets that user's variables.
        **(variables_of(AGENT_USER) if plan.limits.user == AGENT_USER else {}),
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        **plan.use.env,
    }


def mount_paths(mounts: Sequence[interface.ReadOnlyMount]) -> Mapping[str, PurePosixPath]:
    """The paths of the mounts in the container, by name."""
    return MappingProxyType({mount.name: interface.MOUNTS / mount.name for mount in mounts})
