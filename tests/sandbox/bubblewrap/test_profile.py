import re
import struct
from pathlib import Path, PurePosixPath

import pytest

from agentbench.sandbox.bubblewrap import profile
from agentbench.sandbox.bubblewrap.profile import (
    seccomp_filter,
    system_arguments,
    system_binds,
)


def test_arguments_have_all_isolation() -> None:
    arguments = system_arguments(network=False)
    for wall in ("--unshare-all", "--disable-userns", "--new-session", "--clearenv"):
        assert wall in arguments
    assert arguments[arguments.index("--cap-drop") + 1] == "ALL"
    assert "--share-net" not in arguments
    assert PurePosixPath("/etc/resolv.conf") not in {
        bind.target for bind in system_binds(network=False)
    }


def test_network_is_shared_on_request() -> None:
    assert "--share-net" in system_arguments(network=True)


def test_no_system_folder_is_bound_writable() -> None:
    arguments = system_arguments(network=True)
    assert not {"--bind", "--dev-bind", "--bind-try"} & set(arguments)
    binds = [*system_binds(network=True)]
    assert not any(bind.writable or bind.target == PurePosixPath("/") for bind in binds)


def test_settings_of_java_are_bound_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {
        "java-17-openjdk/security/java.security",
        "java-17-openjdk/logging.properties",
        "maven/m2.conf",
        "maven/logging/simplelogger.properties",
    }
    secret = {"java-17-openjdk/management/jmxremote.password", "maven/settings.xml"}
    for name in shown | secret:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(profile, "_ETC", tmp_path)
    bound = [str(bind.target) for bind in system_binds(network=False)]

    def is_bound(name: str) -> bool:
        return any(PurePosixPath("/etc", name).is_relative_to(target) for target in bound)

    assert {name for name in shown | secret if is_bound(name)} == shown


def test_memory_file_systems_are_bounded() -> None:
    arguments = system_arguments(network=False)
    created = [n for n, word in enumerate(arguments) if word == "--tmpfs"]
    assert {arguments[n + 1] for n in created} == {"/dev/shm", "/run"}
    assert {arguments[n - 2] for n in created} == {"--size"}


ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
X86, ARM = ("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def verdict(machine: tuple[str, int], number: int, *arguments: int) -> int:
    program = seccomp_filter(machine[0])
    assert program is not None
    data = struct.pack("<IIQ6Q", number, machine[1], 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("<HBBI", program))
    at, loaded = 0, 0
    while True:
        op, if_true, if_false, value = steps[at]
        at += 1
        match op:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", data, value)
            case 0x15:
                at += if_true if loaded == value else if_false
            case 0x35:
                at += if_true if loaded >= value else if_false
            case 0x45:
                at += if_true if loaded & value else if_false
            case 0x06:
                return value


@pytest.mark.parametrize(
    ("machine", "number", "expected"),
    [
        (X86, 0, ALLOW),  # read
        (X86, 59, ALLOW),  # execve
        (X86, 165, EPERM),  # mount
        (X86, 101, EPERM),  # ptrace
        (X86, 435, ENOSYS),  # clone3
        (X86, 0x40000000 + 165, ENOSYS),  # mount by its x32 number
        (ARM, 63, ALLOW),  # read
        (ARM, 40, EPERM),  # mount
        (ARM, 165, ALLOW),  # getrusage; 165 is mount on the other machine
        (("x86_64", 0x40000003), 3, ENOSYS),  # a 32-bit call
    ],
)
def test_calls_are_allowed_or_refused(machine: tuple[str, int], number: int, expected: int) -> None:
    assert verdict(machine, number) == expected


@pytest.mark.parametrize(("machine", "clone"), [(X86, 56), (ARM, 220)])
def test_clone_allows_threads_only(machine: tuple[str, int], clone: int) -> None:
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # the flags of a thread
    for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x08000000):
        assert verdict(machine, clone, flag | 17) == EPERM


@pytest.mark.parametrize(("machine", "ioctl"), [(X86, 16), (ARM, 29)])
def test_terminal_injection_is_refused(machine: tuple[str, int], ioctl: int) -> None:
    assert verdict(machine, ioctl, 0, 0x5412) == EPERM  # TIOCSTI
    assert verdict(machine, ioctl, 0, (1 << 32) | 0x5412) == EPERM  # the kernel reads 32 bits
    assert verdict(machine, ioctl, 0, 0x5413) == ALLOW  # TIOCGWINSZ


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_the_numbers_are_those_of_the_kernel(column: int, machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    known = {
        name: int(number)
        for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", header.read_text())
    }
    ours = {name: numbers[column] for name, numbers in profile._REFUSED.items()}
    assert {n: v for n, v in ours.items() if v is not None and known.get(n, v) != v} == {}
    assert len(ours.keys() & known.keys()) > 40


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert seccomp_filter("riscv64") is None
