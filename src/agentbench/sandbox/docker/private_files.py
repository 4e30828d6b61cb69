"""Closes side channels between containers: hides files, and replaces shared files by private ones.

A file that the engine binds into several containers is one file for the kernel: its locks, times
and watches are visible in all of them. So each container gets copies in a folder of its own.
"""

import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from agentbench.core.files import owned_folder
from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import Engine, EngineProduct
from agentbench.sandbox.host_environment import resolvers
from agentbench.sandbox.interface import Limits, ReadOnlyMount
from agentbench.sandbox.kernel_view import HIDDEN_IN_PROC, private_copies, stand_ins

MASKED_PATHS = (
    # The engine's list, which this one replaces.
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/latency_stats", "/proc/sched_debug",
    "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap",
    "/sys/firmware",
    *HIDDEN_IN_PROC,
    "/sys/block", "/sys/devices/pci0000:00", "/sys/devices/platform", "/sys/devices/system/node",
    "/sys/devices/virtual/bdi", "/sys/devices/virtual/block", "/sys/devices/virtual/workqueue",
    "/sys/fs/bpf", "/sys/fs/btrfs", "/sys/fs/ext4", "/sys/fs/xfs", "/sys/kernel", "/sys/module",
)  # fmt: skip
"""Files and folders that are empty in every container."""
_REPLACEABLE = frozenset({"cpuinfo", "loadavg", "meminfo", "stat", "uptime"})
"""The files in /proc over which runc mounts other files."""
_INIT = "/sbin/docker-init"  # where the engine binds its own program
HOSTS, RESOLVERS = "/etc/hosts", "/etc/resolv.conf"
_LOCAL_NAMES = """127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
ff00::0\tip6-mcastprefix
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
"""
"""The names that the engine gives a container without a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateFiles:
    """Files of this machine for one container."""

    mounts: tuple[ReadOnlyMount, ...] = ()
    replaced: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))
    """The files that replace the container's own, by their paths inside."""


@contextmanager
def private_files(
    engine: Engine, mounts: Sequence[ReadOnlyMount], limits: Limits, *, names: bool = False
) -> Iterator[PrivateFiles]:
    """The files of a container on an engine that sees our files, until the end of the block.

    Args:
        engine: The engine.
        mounts: The files to copy.
        limits: The container's limits.
        names: Whether to write the files about names that an engine writes with a network.

    Raises:
        SandboxError: they cannot be written.
    """
    # Podman cannot always mount over /proc, and containers may not read files without their label.
    may_replace = engine.facts.product is EngineProduct.DOCKER and not engine.facts.labels_files
    contents: dict[str, bytes] = {}
    # Another runtime may have a kernel, and so a /proc, of its own.
    if may_replace and limits.runtime is None:
        if engine.facts.kernel == platform.release():
            shown = stand_ins(limits.memory_mib)
            contents = {f"/proc/{name}": shown[name] for name in _REPLACEABLE & shown.keys()}
        if names:
            servers = "".join(f"nameserver {each}\n" for each in resolvers())
            contents |= {HOSTS: _LOCAL_NAMES.encode(), RESOLVERS: servers.encode()}
    replaced: dict[str, Path] = {}
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(owned_folder("agentbench-mounts-"))
            folder.chmod(0o711)  # for engines that remap users
            for path, content in contents.items():
                replaced[path] = folder / path.rpartition("/")[2]
                replaced[path].write_bytes(content)
                replaced[path].chmod(0o444)
            init = shutil.which("docker-init")
            may_run = not os.statvfs(folder).f_flag & os.ST_NOEXEC
            if init is not None and may_replace and may_run:
                replaced[_INIT] = Path(shutil.copy(init, folder))
            (folder / "mounts").mkdir()
            copies = tuple(private_copies(mounts, folder / "mounts"))
        except OSError as fault:
            raise SandboxError(f"cannot copy files for a container: {fault}") from fault
        yield PrivateFiles(mounts=copies, replaced=replaced)
