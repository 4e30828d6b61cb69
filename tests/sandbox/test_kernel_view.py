"""Fixed files of the kernel, private copies, and programs that read the one and the other."""

import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.sandbox.interface import Command, ImageId, ReadOnlyMount, Sandbox, SandboxProvider
from agentbench.sandbox.kernel_view import private_copies, stand_ins
from tests.sandbox.conformance_base import LIMITS, python, sh
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]

MACHINE = """
import multiprocessing, os
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
assert float(open("/proc/uptime").read().split()[0]) > 0
lines = open("/proc/stat").read().splitlines()
assert sum(line.startswith("cpu") for line in lines) == os.cpu_count() + 1
print(next(open("/proc/meminfo")).split()[1], len(os.sched_getaffinity(0)))
"""
PROGRAMS = {
    "free": ("free", "-m"),
    "java": ("java", "-version"),
    "node": ("node", "-e", "if (require('os').totalmem() != 512 << 20) process.exit(1)"),
    "ps": ("ps", "aux"),
    "top": ("top", "-bn1"),
    "uptime": ("uptime",),
    "vmstat": ("vmstat",),
}


def test_meminfo_shows_only_the_limit_of_the_sandbox() -> None:
    memory = stand_ins(512)["meminfo"].decode()
    facts = dict(re.findall(r"^(\S+):\s+(\d+)", memory, re.MULTILINE))
    assert (facts["MemTotal"], facts["MemAvailable"], facts["AnonPages"]) == ("524288",) * 2 + (
        "0",
    )
    assert set(re.findall(r" (\d+)$", stand_ins(512)["vmstat"].decode(), re.MULTILINE)) == {"0"}


def test_live_and_shared_mounts_stay_and_others_are_copied_for_all_to_read(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "file").write_text("text")
    (source / "deep" / "file").chmod(0o700)
    source.chmod(0o700)
    target.mkdir()
    mounts = [
        ReadOnlyMount(name="live", source=source, live=True),
        ReadOnlyMount(name="shared", source=source, shared=True),
        ReadOnlyMount(name="folder", source=source),
        ReadOnlyMount(name="file", source=source / "deep" / "file"),
    ]
    live, shared, folder, file = private_copies(mounts, target)
    assert (live.source, shared.source) == (source, source)
    assert (folder.source / "deep" / "file").read_text() == file.source.read_text() == "text"
    assert [path.stat().st_mode & 0o777 for path in (folder.source, file.source)] == [0o755] * 2


def check_machine(opened: Sandbox) -> None:
    """Check that a program sees the sandbox's memory and all processors that it may use."""
    result = python(opened, MACHINE)
    assert result.ok, result.stderr
    memory, processors = map(int, result.stdout.split())
    assert memory == LIMITS.memory_mib << 10
    assert processors == int(sh(opened, "nproc").stdout)


def test_programs_see_the_machine_in_bubblewrap(walled: Sandbox) -> None:
    check_machine(walled)


@pytest.mark.docker
def test_programs_see_the_machine_in_docker(provider: SandboxProvider, image: ImageId) -> None:
    with provider.open(image, limits=LIMITS, network=False) as opened:
        check_machine(opened)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_machine_work_in_bubblewrap(walled: Sandbox, name: str) -> None:
    found = shutil.which(name)
    if found is None or not found.startswith(("/usr/bin", "/bin")):
        pytest.skip(f"{name} is not installed")
    result = walled.run(Command(argv=PROGRAMS[name], timeout=timedelta(minutes=2)))
    assert result.ok, result.stderr
