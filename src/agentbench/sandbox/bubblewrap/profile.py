"""The arguments of bwrap: namespaces, mounts, generated files, seccomp filter, file limits."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.sandbox.bubblewrap.mount_namespace import MountNamespace
from agentbench.sandbox.bubblewrap.seccomp import seccomp_filter
from agentbench.sandbox.host_environment import HostPython
from agentbench.sandbox.interface import GIT_CONFIGURATION, HOME, USER_ID
from agentbench.sandbox.supervise import memory_file

CERTIFICATES = PurePosixPath("/etc/agentbench-ca.pem")

_ISOLATION = (
    "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv "
    f"--cap-drop ALL --uid {USER_ID} --gid {USER_ID} --hostname agentbench"
).split()
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr on most systems
_SYSTEM_FILES = (
    "alternatives", "ca-certificates", "crypto-policies", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "magic", "mime.types", "pki", "protocols", "services", "ssl",
    "timezone",
)  # fmt: skip
_NETWORK_FILES = ("hosts", "nsswitch.conf", "resolv.conf", "pip.conf")
_OWN_FILES = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\n"
    f"agentbench:x:{USER_ID}:{USER_ID}::{HOME}:/bin/sh\n"
    "nobody:x:65534:65534::/nonexistent:/bin/false\n",
    "/etc/group": f"root:x:0:\nagentbench:x:{USER_ID}:\nnogroup:x:65534:\n",
    "/etc/gitconfig": GIT_CONFIGURATION,
}
_LOCAL_FILES = {
    "/etc/hosts": "127.0.0.1 localhost agentbench\n::1 localhost\n",
    "/etc/nsswitch.conf": "hosts: files\n",
}
_SCRATCH_BYTES = 64 << 20  # each, as Docker's /dev/shm
_FINAL_ARGUMENTS = ("--remount-ro", "/dev", "--remount-ro", "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindMount:
    """A host path, shown at a path inside."""

    source: Path
    target: PurePosixPath
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayMount:
    """A read-only folder with a writable one on top, shown at a path inside."""

    lower: Path
    upper: Path
    work: Path  # an empty folder next to `upper`
    target: PurePosixPath


def system_arguments(*, network: bool) -> list[str]:
    """The namespaces, the kernel's file systems and the system's programs."""
    arguments = [*_ISOLATION, *(["--share-net"] if network else [])]
    arguments += ["--ro-bind", "/usr", "/usr"]
    for name in _MERGED:
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for name in (*_SYSTEM_FILES, *(_NETWORK_FILES if network else ())):
        if _may_be_shown(Path("/etc", name)):
            arguments += ["--ro-bind", str(Path("/etc", name).resolve()), f"/etc/{name}"]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for scratch in ("/dev/shm", "/run"):
        arguments += ["--size", str(_SCRATCH_BYTES), "--tmpfs", scratch]
    return [*arguments, "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]


def python_binds(python: HostPython) -> list[BindMount]:
    """The interpreter's prefix under its given and its resolved path, unless it is in /usr."""
    names = dict.fromkeys((python.prefix, python.prefix.resolve()))
    return [
        BindMount(source=python.prefix, target=PurePosixPath(name))
        for name in names
        if not name.is_relative_to("/usr")
    ]


def bind_arguments(
    binds: Iterable[BindMount | OverlayMount], namespace: MountNamespace | None, stack: ExitStack
) -> list[str]:
    """The arguments for mounts, whose sources go through the mount namespace if there is one.

    Raises:
        OSError: a source does not exist.
    """

    def shown(source: Path) -> Path:
        """The path at which bwrap can reach a source."""
        if namespace is None:
            return source
        target = namespace.show(source)
        stack.callback(namespace.hide, target)
        return target

    arguments: list[str] = []
    for bind in binds:
        if isinstance(bind, OverlayMount):
            lower = shown(bind.lower)
            both = shown(bind.upper.parent)  # `upper` and `work` must be of one mount
            arguments += ["--overlay-src", str(lower), "--overlay", str(both / bind.upper.name)]
            arguments += [str(both / bind.work.name), str(bind.target)]
        else:
            option = "--bind" if bind.writable else "--ro-bind"
            arguments += [option, str(shown(bind.source)), str(bind.target)]
    return arguments


def data_arguments(stack: ExitStack, *, network: bool) -> tuple[list[str], list[int]]:
    """The arguments and descriptors for generated files and for the seccomp filter."""
    arguments: list[str] = []
    descriptors: list[int] = []
    for path, text in (_OWN_FILES if network else _OWN_FILES | _LOCAL_FILES).items():
        descriptors.append(memory_file(text.encode(), stack))
        arguments += ["--perms", "0444", "--file", str(descriptors[-1]), path]
    if (filter_ := seccomp_filter()) is not None:
        descriptors.append(memory_file(filter_, stack))
        arguments += ["--seccomp", str(descriptors[-1])]
    return [*arguments, *_FINAL_ARGUMENTS], descriptors


_PRLIMIT = Path("/usr/bin/prlimit")  # of util-linux, which every distribution installs


def command_arguments(environment: Mapping[str, str], folder: PurePosixPath) -> bytes:
    """The working folder and the environment, in the format of `--args`."""
    words = ["--chdir", str(folder)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def start_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The argv with which a missing program exits 127 and a locked one 126; bwrap exits 1."""
    if "=" in argv[0]:  # env would take it for a variable
        return ("/usr/bin/nice", "-n", "0", "--", *argv)
    return ("/usr/bin/env", "--", *argv)


def limited_argv(argv: Sequence[str], *, file_bytes: int, open_files: int) -> tuple[str, ...]:
    """The argv that limits the size and number of files from inside, and disables core dumps.

    From outside, a root without CAP_SYS_RESOURCE may not set limits; inside, all may lower theirs.
    """
    if not _PRLIMIT.exists():
        return tuple(argv)
    sizes, descriptors = f"--fsize={file_bytes}:{file_bytes}", f"--nofile={open_files}:{open_files}"
    return (str(_PRLIMIT), "--core=0:0", sizes, descriptors, "--", *argv)


def _may_be_shown(path: Path) -> bool:
    """Whether a file exists and has no credentials: addresses in pip.conf may contain some."""
    if path.name == "pip.conf":
        return path.is_file() and os.access(path, os.R_OK) and "@" not in path.read_text()
    return path.exists()
