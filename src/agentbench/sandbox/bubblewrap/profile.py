"""The arguments of bwrap for a sandbox, with its seccomp filter.

The filter refuses calls that no test run needs and that kernel exploits use. They fail with EPERM,
so that programs such as glibc and git fall back. `clone3` fails with ENOSYS, so that glibc uses
`clone`, whose flags a filter can read.
"""

import os
import platform
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path, PurePosixPath

from agentbench.sandbox.bubblewrap.program import MountNamespace
from agentbench.sandbox.host_environment import HostPython
from agentbench.sandbox.interface import GIT_CONFIGURATION, HOME, USER_ID
from agentbench.sandbox.supervise import memory_file

_REFUSED = {  # name: (x86_64, aarch64); None if the machine has no such call
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "finit_module": (313, 273),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "lookup_dcookie": (212, 18), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "move_pages": (279, 239), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "request_key": (249, 218),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "vhangup": (153, 58),
}  # fmt: skip
_CLONE3 = 435
_CLONE = (56, 220)
_IOCTL = (16, 29)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_BIT = 0x40000000  # x86_64 calls with other numbers, which a list of numbers would miss
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW{CGROUP,UTS,IPC,USER,PID,NET} and NEWNS
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_EPERM, _ENOSYS = 1, 38
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
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
    # Links of Debian's Java and Maven in /usr lead here, and Maven does not start without them. The
    # files next to these may hold passwords.
    "java-*/security", "java-*/*.properties", "java-*/*.cfg", "maven/m2*.conf", "maven/logging",
)  # fmt: skip
_ETC = Path("/etc")
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
_REACHED_BY_ALL = (Path("/usr"), *(Path("/", name) for name in _MERGED), Path("/etc"))
_SCRATCH_BYTES = 64 << 20  # each, as Docker's /dev/shm
_FINAL_ARGUMENTS = ("--remount-ro", "/dev", "--remount-ro", "/")
# Both are part of util-linux, which every distribution installs.
_PRLIMIT, _SETSID = Path("/usr/bin/prlimit"), Path("/usr/bin/setsid")


class _At(IntEnum):
    """Offsets in `struct seccomp_data` (little-endian machines only)."""

    NUMBER = 0
    ARCHITECTURE = 4
    FIRST_ARGUMENT = 16
    SECOND_ARGUMENT = 24


class _Op(IntEnum):
    """Codes of the classic BPF instructions that are used here."""

    LOAD = 0x20
    IF_EQUAL = 0x15
    IF_AT_LEAST = 0x35
    IF_ANY_BIT = 0x45
    RETURN = 0x06


def seccomp_filter(machine: str | None = None, *, allowed: Collection[str] = ()) -> bytes | None:
    """The filter for a machine (`uname -m`; default: this one); None if its calls are unknown."""
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        return None
    column, audit_arch = known
    program = [
        _step(_Op.LOAD, _At.ARCHITECTURE),
        _step(_Op.IF_EQUAL, audit_arch, if_true=1),  # 32-bit calls have other numbers
        _step(_Op.RETURN, _ERRNO | _ENOSYS),
        _step(_Op.LOAD, _At.NUMBER),
        *_when(_Op.IF_AT_LEAST, _X32_BIT, _ENOSYS),
        *_when(_Op.IF_EQUAL, _CLONE3, _ENOSYS),
    ]
    for name, numbers in _REFUSED.items():
        if name not in allowed and (number := numbers[column]) is not None:
            program += _when(_Op.IF_EQUAL, number, _EPERM)
    clone = [_step(_Op.LOAD, _At.FIRST_ARGUMENT), *_when(_Op.IF_ANY_BIT, _NEW_NAMESPACES, _EPERM)]
    program += _only_for(_CLONE[column], clone)
    injections = [_when(_Op.IF_EQUAL, request, _EPERM) for request in _TERMINAL_INJECTION]
    program += _only_for(
        _IOCTL[column], [_step(_Op.LOAD, _At.SECOND_ARGUMENT), *injections[0], *injections[1]]
    )
    program.append(_step(_Op.RETURN, _ALLOW))
    return b"".join(program)


def _step(op: _Op, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", op, if_true, if_false, value)


def _when(op: _Op, value: int, errno: int) -> list[bytes]:
    return [_step(op, value, if_false=1), _step(_Op.RETURN, _ERRNO | errno)]


def _only_for(number: int, steps: list[bytes]) -> list[bytes]:
    block = [*steps, _step(_Op.RETURN, _ALLOW)]
    return [_step(_Op.IF_EQUAL, number, if_false=len(block)), *block]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyOverlay:
    """A read-only folder with inodes of its own, shown at a path inside."""

    lower: Path
    empty: Path  # an empty folder: an overlay needs two
    target: PurePosixPath


def system_binds(*, network: bool) -> Iterator[BindMount]:
    """The system's programs and settings."""
    folders = (Path("/usr"), *(Path("/", name) for name in _MERGED))
    for path in folders:
        if path.is_dir() and not path.is_symlink():
            yield BindMount(source=path, target=PurePosixPath(path))
    for pattern in (*_SYSTEM_FILES, *(_NETWORK_FILES if network else ())):
        for path in sorted(_ETC.glob(pattern)):
            if not path.exists():
                continue
            # The address of a package index may contain credentials.
            if path.name != "pip.conf" or (
                os.access(path, os.R_OK) and "@" not in path.read_text()
            ):
                target = PurePosixPath("/etc", path.relative_to(_ETC))
                yield BindMount(source=path.resolve(), target=target)


def system_arguments(*, network: bool) -> list[str]:
    """The namespaces and the kernel's file systems."""
    arguments = [*_ISOLATION, *(["--share-net"] if network else [])]
    for path in (Path("/", name) for name in _MERGED):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
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


class ReachablePaths:
    """The paths at which bwrap can reach files of this machine, until a stack is closed."""

    def __init__(self, namespace: MountNamespace | None, stack: ExitStack) -> None:
        self._namespace, self._stack = namespace, stack
        self._shown: dict[Path, Path] = {path: path for path in _REACHED_BY_ALL}

    def of(self, source: Path) -> Path:
        """The path of a file or folder; a folder inside a shown one is not shown again."""
        if self._namespace is None:
            return source
        for above in (source, *source.parents):
            if above in self._shown:
                return self._shown[above] / source.relative_to(above)
        shown = self._shown[source] = self._namespace.show(source)
        self._stack.callback(self._namespace.hide, shown)
        return shown


def bind_arguments(
    binds: Iterable[BindMount | OverlayMount | ReadOnlyOverlay], reachable: ReachablePaths
) -> list[str]:
    """The arguments for mounts."""
    arguments: list[str] = []
    for bind in binds:
        match bind:
            case ReadOnlyOverlay():
                for source in (bind.empty, bind.lower):
                    arguments += ["--overlay-src", str(reachable.of(source))]
                arguments += ["--ro-overlay", str(bind.target)]
            case OverlayMount():
                # The kernel wants `upper` and `work` in one mount.
                both = reachable.of(bind.upper.parent)
                arguments += ["--overlay-src", str(reachable.of(bind.lower))]
                arguments += ["--overlay", str(both / bind.upper.name)]
                arguments += [str(both / bind.work.name), str(bind.target)]
            case BindMount():
                option = "--bind" if bind.writable else "--ro-bind"
                arguments += [option, str(reachable.of(bind.source)), str(bind.target)]
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


def command_arguments(environment: Mapping[str, str], folder: PurePosixPath) -> bytes:
    """The working folder and the environment, in the format of `--args`."""
    words = ["--chdir", str(folder)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def start_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The argv for a session of its own, and for exit code 127 or 126 of a missing program.

    bwrap itself leaves the program in process group 1, where the kernel reads `kill(-1)` for "my
    own group": a program that signals its group would reach every process but itself.
    """
    session = (str(_SETSID),) if _SETSID.exists() else ()
    if "=" in argv[0]:  # env would take it for a variable
        return (*session, "/usr/bin/nice", "-n", "0", "--", *argv)
    return (*session, "/usr/bin/env", "--", *argv)


def limited_argv(argv: Sequence[str], *, file_bytes: int, open_files: int) -> tuple[str, ...]:
    """The argv that limits the size and number of files from inside, and disables core dumps.

    Outside, a root without CAP_SYS_RESOURCE may not set limits; inside, every user may lower them.
    """
    if not _PRLIMIT.exists():
        return tuple(argv)
    sizes, descriptors = f"--fsize={file_bytes}:{file_bytes}", f"--nofile={open_files}:{open_files}"
    return (str(_PRLIMIT), "--core=0:0", sizes, descriptors, "--", *argv)
