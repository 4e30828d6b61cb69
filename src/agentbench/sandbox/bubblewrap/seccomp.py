"""The seccomp filter of bubblewrap sandboxes, as the bytes that `bwrap --seccomp` reads.

It refuses calls that no test run needs and that kernel exploits use. They fail with EPERM, so that
programs such as glibc and git fall back. `clone3` fails with ENOSYS, so that glibc uses `clone`,
whose flags a filter can read.
"""

import platform
import struct
from enum import IntEnum

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
_X32_BIT = 0x40000000  # x86_64 calls with other numbers, which would pass a list of numbers
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW{CGROUP,UTS,IPC,USER,PID,NET} and NEWNS
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_EPERM, _ENOSYS = 1, 38


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


_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000


def seccomp_filter(machine: str | None = None) -> bytes | None:
    """The filter for a machine (default: this one), or None if its calls are unknown."""
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        return None
    column, audit_arch = known
    program = [
        *_unless(_At.ARCHITECTURE, audit_arch, _ENOSYS),
        _step(_Op.LOAD, _At.NUMBER),
        *_when(_Op.IF_AT_LEAST, _X32_BIT, _ENOSYS),
        *_when(_Op.IF_EQUAL, _CLONE3, _ENOSYS),
    ]
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
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
    """Refuse when the loaded word matches."""
    return [_step(op, value, if_false=1), _step(_Op.RETURN, _ERRNO | errno)]


def _unless(offset: _At, value: int, errno: int) -> list[bytes]:
    """Refuse unless a word has this value."""
    check = _step(_Op.IF_EQUAL, value, if_true=1)
    return [_step(_Op.LOAD, offset), check, _step(_Op.RETURN, _ERRNO | errno)]


def _only_for(number: int, steps: list[bytes]) -> list[bytes]:
    """Take these steps for one call, then allow it; other calls continue with the next step."""
    block = [*steps, _step(_Op.RETURN, _ALLOW)]
    return [_step(_Op.IF_EQUAL, number, if_false=len(block)), *block]
