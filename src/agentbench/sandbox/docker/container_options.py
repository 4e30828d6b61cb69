"""What a container is created with: its limits, capabilities, volumes, mounts and environment."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TypedDict

from agentbench.sandbox.docker.engine import DockerApi
from agentbench.sandbox.docker.main_process import MAIN_PROCESS
from agentbench.sandbox.interface import Limits, ReadOnlyMount
from agentbench.sandbox.ownership import ProcessOwner, labels_of

WORKSPACE = PurePosixPath("/workspace")
RESULTS = PurePosixPath("/results")
HOME = PurePosixPath("/home/agentbench")
MOUNTS = PurePosixPath("/agentbench")
SCRIPT_FOLDERS = ("/tests", "/solution", "/logs/agent", "/logs/artifacts", "/logs/verifier")
"""Where the scripts of a task that brings its own judge find their files, and leave theirs."""

USER_ID = 1000
USER = f"{USER_ID}:{USER_ID}"

_OWN_PROCESSES = 3  # init, keeper and the shell around a command
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_VENV_BIN = "/opt/venv/bin"


class VolumeOptions(TypedDict):
    """The engine's options for a volume."""

    Labels: dict[str, str]


class EngineMount(TypedDict, total=False):
    """A mount in the engine's own terms."""

    Target: str
    Source: str
    Type: str
    ReadOnly: bool
    VolumeOptions: VolumeOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """All that a container is made from."""

    image: str
    image_env: tuple[str, ...]
    limits: Limits
    owner: ProcessOwner
    network: bool = False
    bound: tuple[ReadOnlyMount, ...] = ()  # seen in place
    copied: tuple[ReadOnlyMount, ...] = ()  # copied in, since the user could not read them
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Of commands only: what the container itself has would go into its snapshots."""
    workspace: PurePosixPath = WORKSPACE
    holds_workspace: bool = False  # the image does, a snapshot for one
    user_processes: int | None = None  # of its user, over all containers; None: the engine's own


def readable_inside(mount: ReadOnlyMount) -> bool:
    """Whether the sandbox's user may read it where it is, going by its top."""
    status = mount.source.stat()
    if status.st_uid == USER_ID:
        return True
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else 0)
    return status.st_mode & needed == needed


def create_container(api: DockerApi, name: str, plan: ContainerPlan, cpus: int) -> str:
    """Create, not start, a container; returns its id."""
    created = api.create_container(
        plan.image,
        name=name,
        entrypoint=["/bin/sh", "-c", MAIN_PROCESS],
        command=[],
        user="0:0",
        working_dir="/",
        hostname="sandbox",
        stdin_open=True,
        environment=_environment(plan),
        labels=labels_of("sandbox", plan.owner),
        healthcheck={"test": ["NONE"]},
        host_config=_host_config(plan, cpus),
    )
    return str(created["Id"])


def _host_config(plan: ContainerPlan, cpus: int) -> dict[str, object]:
    limits = plan.limits
    memory = limits.memory_mib * 1024 * 1024
    disk = limits.disk_mib * 1024 * 1024
    return {
        "Init": True,
        "CapDrop": ["ALL"],
        "CapAdd": ["KILL"],  # the keeper's; the commands' user gains nothing by it
        "SecurityOpt": ["no-new-privileges"],
        "NetworkMode": "bridge" if plan.network else "none",
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(min(limits.cpus, cpus) * 1e9),
        "PidsLimit": limits.pids + _OWN_PROCESSES,
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "fsize", "Soft": disk, "Hard": disk},
            {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
            *_user_limits(plan),
        ],
        # Half, since it counts as memory: a full /tmp must leave room to remove something.
        "Tmpfs": {"/tmp": f"exec,mode=1777,size={memory // 2}"},
        "LogConfig": {"Type": "none"},
        "Mounts": _mounts(plan),
    }


def _user_limits(plan: ContainerPlan) -> list[dict[str, object]]:
    if plan.user_processes is None:
        return []
    return [{"Name": "nproc", "Soft": plan.user_processes, "Hard": plan.user_processes}]


def _mounts(plan: ContainerPlan) -> list[EngineMount]:
    folders = [plan.workspace, RESULTS, *([MOUNTS] if plan.copied else [])]
    labels = labels_of("sandbox", plan.owner)
    volumes: list[EngineMount] = [
        {"Type": "volume", "Target": str(folder), "VolumeOptions": {"Labels": labels}}
        for folder in folders
    ]
    binds: list[EngineMount] = [
        {
            "Type": "bind",
            "Source": os.path.realpath(mount.source),
            "Target": str(MOUNTS / mount.name),
            "ReadOnly": True,
        }
        for mount in plan.bound
    ]
    return volumes + binds


def _environment(plan: ContainerPlan) -> dict[str, str]:
    image_env = dict(item.partition("=")[::2] for item in plan.image_env)
    path = image_env.get("PATH") or _DEFAULT_PATH
    if _VENV_BIN not in path.split(":"):
        path = f"{_VENV_BIN}:{path}"
    return {
        "PATH": path,
        "HOME": str(HOME),
        "USER": "agentbench",
        "LOGNAME": "agentbench",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
    }


def mount_paths(mounts: Sequence[ReadOnlyMount]) -> Mapping[str, PurePosixPath]:
    """Where the mounts are found inside, by name."""
    return MappingProxyType({mount.name: MOUNTS / mount.name for mount in mounts})
