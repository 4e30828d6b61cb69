"""Bubblewrap keeps what every sandbox has to, and holds against the escapes that are known."""

import dataclasses
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import cast

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider, BwrapRunner
from agentbench.sandbox.folder_sandbox import FolderSandbox
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    Limits,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
    SnapshotId,
)
from agentbench.scoring.evidence import Ending
from tests.needed import require_tool
from tests.sandbox.conformance import SandboxConformance
from tests.sandbox.conformance_base import LIMITS, python, sh

REMOUNT = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
for place in (b"/", b"/usr", b"/etc/ssl", b"/agentbench/tools"):
    libc.mount(None, place, None, ctypes.c_ulong(MS_REMOUNT | MS_BIND), None)
libc.unshare(0x10000000 | 0x00020000)
libc.mount(b"tmpfs", b"/usr", b"tmpfs", ctypes.c_ulong(0), None)
for place in ("/usr/escaped", "/agentbench/tools/escaped", "/proc/1/root/usr/escaped"):
    try:
        open(place, "w").close()
    except OSError:
        continue
    print(place)
"""
SLOW_TO_DIE = """
import fcntl, os, signal
os.setsid()
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
held = b"x" * (300 << 20)  # freed before the lock is
open("ready", "w").close()
signal.pause()
"""
IS_LOCKED = """
import fcntl
try:
    fcntl.flock(open("lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("locked")
"""
CHANGE_ENVIRONMENT = """
set -e
rm "$VIRTUAL_ENV/bin/py.test"
cd "$VIRTUAL_ENV"/lib/python3*/site-packages
rm -r pygments && mkdir pygments && echo new > pygments/only.py
mv iniconfig moved && rm -r pluggy && echo file > pluggy
echo more >> pytest/__init__.py && chmod 700 _pytest && ln -s nowhere link
"""
LIST_ENVIRONMENT = """
import hashlib, os, sys
for folder, folders, files in os.walk(sys.prefix):
    for name in (*folders, *files):
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        text = os.readlink(path) if os.path.islink(path) else ""
        if not text and name in files:
            text = hashlib.sha256(open(path, "rb").read()).hexdigest()
        print(oct(mode), os.path.relpath(path, sys.prefix), text)
"""


@pytest.fixture(scope="session")
def provider(bubblewrap: BubblewrapProvider) -> BubblewrapProvider:
    return bubblewrap


@pytest.fixture(scope="session")
def image(bubblewrap_image: ImageId) -> ImageId:
    return bubblewrap_image


@pytest.fixture(scope="session")
def gaps(provider: BubblewrapProvider) -> frozenset[Promise]:
    if provider.hierarchy is not None:
        return frozenset()
    return frozenset({Promise.MEMORY_LIMIT, Promise.TELLS_OOM, Promise.CPU_LIMIT})


@pytest.fixture(scope="session")
def reconnect(provider: BubblewrapProvider) -> Callable[[], SandboxProvider]:
    return lambda: BubblewrapProvider.connect(cache_dir=provider.cache.parent)


@pytest.fixture(scope="session")
def leftovers(provider: BubblewrapProvider) -> Callable[[], frozenset[str]]:
    def look() -> frozenset[str]:
        hierarchy = provider.hierarchy
        parents = set[Path]() if hierarchy is None else set(hierarchy.parents.values())
        groups = [path for parent in parents for path in parent.glob(f"agentbench-{os.getpid()}-*")]
        return frozenset(map(str, [*groups, *(provider.cache / "live").iterdir()]))

    return look


@pytest.fixture(scope="session")
def reachable_host() -> str:
    return "127.0.0.1"


class TestConformance(SandboxConformance):
    def test_mount_cannot_be_remounted_writable(
        self, provider: SandboxProvider, image: ImageId, tmp_path: Path
    ) -> None:
        mounts = [ReadOnlyMount(name="tools", source=tmp_path)]
        tmp_path.chmod(0o777)
        with provider.open(image, limits=LIMITS, network=False, mounts=mounts) as walled:
            assert python(walled, REMOUNT).stdout == ""
            assert not sh(walled, "mount -o remount,bind,rw /usr").ok
        assert not Path("/usr/escaped").exists()
        assert list(tmp_path.iterdir()) == []

    def test_system_programs_belong_to_nobody(self, walled: Sandbox) -> None:
        assert sh(walled, "id -u; stat -c %u /usr /usr/bin/env").stdout == "1000\n65534\n65534\n"

    def test_host_processes_are_invisible(self, walled: Sandbox) -> None:
        seen = python(walled, "import os; print(sorted(filter(str.isdigit, os.listdir('/proc'))))")
        assert len(seen.stdout.split()) <= 3  # bwrap's own init, and Python


def test_slow_daemon_is_dead_after_its_command(walled: Sandbox) -> None:
    started = f"python -c '{SLOW_TO_DIE}' < /dev/null > /dev/null 2>&1 &"
    done = sh(walled, f"{started}\nuntil [ -e ready ]; do sleep 0.01; done")
    assert done.ok, done.stderr
    assert python(walled, IS_LOCKED).stdout == ""


def test_snapshot_has_the_content_of_the_overlay(
    provider: BubblewrapProvider, walled: Sandbox
) -> None:
    assert sh(walled, CHANGE_ENVIRONMENT).ok
    before = python(walled, LIST_ENVIRONMENT)
    snapshot = walled.snapshot("overlaid")
    copying = dataclasses.replace(provider, overlays=False)
    for reader in (provider, copying):
        with reader.open(snapshot, limits=LIMITS, network=False) as again:
            after = python(again, LIST_ENVIRONMENT)
        assert before.ok
        assert sorted(after.stdout.splitlines()) == sorted(before.stdout.splitlines())
    provider.discard(snapshot)


def test_a_sandbox_outlives_the_snapshot_it_was_opened_from(
    provider: BubblewrapProvider, walled: Sandbox
) -> None:
    snapshot = walled.snapshot("short-lived")
    with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
        provider.discard(snapshot)
        assert sh(sandbox, "python -m pytest --version").ok


def test_without_control_groups_the_gaps_are_named(
    provider: BubblewrapProvider, image: ImageId
) -> None:
    bare = dataclasses.replace(provider, hierarchy=None)
    missing = frozenset(Promise) - bare.promises
    assert missing >= {Promise.MEMORY_LIMIT, Promise.TELLS_OOM, Promise.CPU_LIMIT}
    with bare.open(image, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "true").ok


def test_docker_image_is_refused_with_a_remedy(
    provider: BubblewrapProvider, tmp_path: Path
) -> None:
    with pytest.raises(UnavailableError, match="--sandbox docker"):
        provider.resolve_image("python:3.8")
    with pytest.raises(UnavailableError, match=r"Dockerfile.*--sandbox docker"):
        provider.resolve_image(None, dockerfile=tmp_path / "Dockerfile")


def test_foreign_snapshot_is_refused(provider: BubblewrapProvider) -> None:
    with (
        pytest.raises(SandboxError, match="is not an image or snapshot of bubblewrap"),
        provider.open(SnapshotId("sha256:0"), limits=LIMITS, network=False),
    ):
        pass


def command(*argv: str) -> Command:
    return Command(argv=argv, timeout=timedelta(seconds=600))


@pytest.fixture
def runner(walled: Sandbox) -> BwrapRunner:
    return cast("BwrapRunner", cast("FolderSandbox", walled).runner)


def never() -> bool:
    return False


def test_failed_bwrap_set_up_is_an_error(runner: BwrapRunner) -> None:
    broken = replace(runner, arguments=(*runner.arguments, "--ro-bind", "/no/such", "/x"))
    with pytest.raises(SandboxError, match="/no/such"):
        broken.run(command("true"), never)


def test_a_command_that_imitates_a_failed_set_up_is_a_result(runner: BwrapRunner) -> None:
    script = 'echo "bwrap: Can\'t chdir to /x: No such file" >&2; exit 1'
    result = runner.run(command("sh", "-c", script), never)
    assert (result.ending, result.exit_code) == (Ending.EXITED, 1)


def test_a_program_with_an_equals_sign_is_started(walled: Sandbox) -> None:
    walled.run(command("sh", "-c", "printf '#!/bin/sh\\necho $1' > a=b && chmod +x a=b"))
    assert walled.run(command("./a=b", "fine")).stdout == "fine\n"


@pytest.mark.soak  # the machines of the gate have no Maven; test_profile has the rule
def test_maven_of_this_machine_starts_without_its_passwords(walled: Sandbox) -> None:
    require_tool("mvn")
    started = walled.run(command("mvn", "--version"))
    assert started.exit_code == 0, started.stdout + started.stderr
    found = walled.run(command("sh", "-c", "find -L /etc -name '*settings*.xml' -o -name 'jmx*'"))
    assert found.stdout == ""


def test_a_search_for_new_files_finds_no_device(walled: Sandbox) -> None:
    argv = ("find", "/dev", "-type", "f", "-mmin", "-240")
    assert walled.run(command(*argv)).stdout == ""


def test_memory_and_time_are_measured(bubblewrap: BubblewrapProvider, walled: Sandbox) -> None:
    result = walled.run(command("python", "-c", "x = b'x' * (50 << 20); print(sum(range(10**6)))"))
    assert (result.cpu_seconds or 0) > 0
    if bubblewrap.hierarchy is not None:
        assert (result.peak_memory_bytes or 0) > 50 << 20


def test_no_descriptor_is_left_open_after_a_command(walled: Sandbox) -> None:
    walled.run(command("true"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    walled.run(command("true"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_command_starts_in_the_requested_folder(runner: BwrapRunner) -> None:
    given = Command(argv=("pwd",), cwd=PurePosixPath("/usr"), timeout=timedelta(seconds=600))
    assert runner.run(given, never).stdout == "/usr\n"


def test_no_file_grows_past_the_disk_limit(bubblewrap, bubblewrap_image) -> None:
    # A hole takes no room: the watch over all that is held, which counts room, has no say in this.
    script = "dd if=/dev/zero of=big bs=1M seek=60 count=10 2>/dev/null; echo $?; stat -c %s big"
    limits = Limits(disk_mib=64)
    with bubblewrap.open(bubblewrap_image, limits=limits, network=False) as sandbox:
        result = sandbox.run(Command(argv=("sh", "-c", script), timeout=timedelta(minutes=10)))
    code, size = result.stdout.split()
    assert code != "0"
    assert int(size) == 64 << 20
