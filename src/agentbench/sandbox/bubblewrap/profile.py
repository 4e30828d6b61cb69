"""The arguments of bwrap: namespaces, mounts, files of our own, the seccomp filter, file limits."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.sandbox.bubblewrap.mount_namespace import MountNamespace
from agentbench.sandbox.bubblewrap.seccomp import seccomp_filter
from agentbench.sandbox.host_environment import HostPython
from agentbench.sandbox.supervise import memory_file

WORKSPACE = PurePosixPath("/workspace")
RESULTS = PurePosixPath("/results")
HOME = PurePosixPath("/home/agentbench")
VENV = PurePosixPath("/opt/venv")
MOUNTS = PurePosixPath("/agentbench")
CERTIFICATES = PurePosixPath("/etc/agentbench-ca.pem")
INSIDE_ID = 1000  # the user's number inside, as in our images

BASE_ENVIRONMENT = {
    "PATH": f"{VENV}/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": str(HOME),
    "LANG": "C.UTF-8",
    "VIRTUAL_ENV": str(VENV),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}

_ISOLATION = (
    "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv "
    f"--cap-drop ALL --uid {INSIDE_ID} --gid {INSIDE_ID} --hostname agentbench"
).split()
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr on most systems
_SYSTEM_FILES = [
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "pki",
    "protocols",
    "services",
    "ssl",
    "timezone",
]
_NETWORK_FILES = ("hosts", "nsswitch.conf", "resolv.conf", "pip.conf")
_OWN_FILES = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\n"
    f"agentbench:x:{INSIDE_ID}:{INSIDE_ID}::{HOME}:/bin/sh\n"
    "nobody:x:65534:65534::/nonexistent:/bin/false\n",
    "/etc/group": f"root:x:0:\nagentbench:x:{INSIDE_ID}:\nnogroup:x:65534:\n",
    # A mirror that is mounted belongs to another user, which git would else refuse.
    "/etc/gitconfig": "[safe]\n\tdirectory = *\n",
}
_LOCAL_FILES = {
    "/etc/hosts": "127.0.0.1 localhost agentbench\n::1 localhost\n",
    "/etc/nsswitch.conf": "hosts: files\n",
}
_SCRATCH_BYTES = 64 << 20  # each; what Docker gives to /dev/shm
_FINAL_ARGUMENTS = ("--remount-ro", "/dev", "--remount-ro", "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindMount:
    """A path of this machine at a place inside."""

    source: Path
    target: PurePosixPath
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayMount:
    """A folder that is never written to, with a writable one on top, at a place inside."""

    lower: Path
    upper: Path
    work: Path  # beside `upper`, empty
    target: PurePosixPath


def system_arguments(*, network: bool) -> list[str]:
    """The walls, the kernel's file systems and the system's programs."""
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
    """What the interpreter needs beyond /usr: its prefix, under every name that it goes by."""
    names = dict.fromkeys((python.prefix, python.prefix.resolve()))
    return [
        BindMount(source=python.prefix, target=PurePosixPath(name))
        for name in names
        if not name.is_relative_to("/usr")
    ]


def bind_arguments(
    binds: Iterable[BindMount | OverlayMount], stage: MountNamespace | None, keep: ExitStack
) -> list[str]:
    """The binds, by way of the stage where there is one.

    Raises:
        OSError: a source is not there.
    """
    arguments: list[str] = []
    for bind in binds:
        if isinstance(bind, OverlayMount):
            lower = _shown(bind.lower, stage, keep)
            both = _shown(bind.upper.parent, stage, keep)  # they have to be of one mount
            arguments += ["--overlay-src", str(lower), "--overlay", str(both / bind.upper.name)]
            arguments += [str(both / bind.work.name), str(bind.target)]
        else:
            option = "--bind" if bind.writable else "--ro-bind"
            arguments += [option, str(_shown(bind.source, stage, keep)), str(bind.target)]
    return arguments


def _shown(source: Path, stage: MountNamespace | None, keep: ExitStack) -> Path:
    if stage is None:
        return source
    shown = stage.show(source)
    keep.callback(stage.hide, shown)
    return shown


def data_arguments(*, network: bool, keep: ExitStack) -> tuple[list[str], list[int]]:
    """Files of our making inside, and the filter of system calls."""
    arguments: list[str] = []
    descriptors: list[int] = []
    for path, text in (_OWN_FILES if network else _OWN_FILES | _LOCAL_FILES).items():
        descriptors.append(memory_file(text.encode(), keep))
        arguments += ["--perms", "0444", "--file", str(descriptors[-1]), path]
    if (filter_ := seccomp_filter()) is not None:
        descriptors.append(memory_file(filter_, keep))
        arguments += ["--seccomp", str(descriptors[-1])]
    return [*arguments, *_FINAL_ARGUMENTS], descriptors


_PRLIMIT = Path("/usr/bin/prlimit")  # of util-linux, which every distribution installs


def command_arguments(environment: Mapping[str, str], folder: PurePosixPath) -> bytes:
    """Where and with what environment to start, as `--args` reads it."""
    words = ["--chdir", str(folder)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def start_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The argv that makes a missing program exit 127 and a locked one 126; bwrap itself says 1."""
    if "=" in argv[0]:  # env would take it for a variable
        return ("/usr/bin/nice", "-n", "0", "--", *argv)
    return ("/usr/bin/env", "--", *argv)


def limited_argv(argv: Sequence[str], *, file_bytes: int, open_files: int) -> tuple[str, ...]:
    """The argv that bounds the size and number of files and lets no core be dumped, from within.

    From outside a root without CAP_SYS_RESOURCE may not; lowering one's own is free to all.
    """
    if not _PRLIMIT.exists():
        return tuple(argv)
    sizes, descriptors = f"--fsize={file_bytes}:{file_bytes}", f"--nofile={open_files}:{open_files}"
    return (str(_PRLIMIT), "--core=0:0", sizes, descriptors, "--", *argv)


def _may_be_shown(path: Path) -> bool:
    """Whether it exists and holds no credentials: a pip.conf may name a user in an address."""
    if path.name == "pip.conf":
        return path.is_file() and os.access(path, os.R_OK) and "@" not in path.read_text()
    return path.exists()
