"""One sandbox signals, the other one looks: nothing arrives over a closed channel."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from agentbench.errors import RunCancelled
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.docker.private_files import MASKED_PATHS
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Limits, Sandbox, SandboxProvider, Stream
from agentbench.sandbox.kernel_view import HIDDEN_IN_PROC, stand_ins
from agentbench.test_runs.python_runners import LAUNCHER_MOUNT, reporter_mounts
from tests.patience import HANG_SECONDS
from tests.sandbox.conformance_base import PATIENCE, python
from tests.sandbox.docker_fixtures import engine, image, provider
from tests.sandbox.side_channels import Channel, channels

__all__ = ["engine", "image", "provider"]

LIMITS = Limits(cpus=2.0, memory_mib=1024, pids=128, disk_mib=512)
LAUNCHER = "agentbench_launch.py"
OURS = next(mount.source for mount in reporter_mounts() if mount.name == LAUNCHER_MOUNT) / LAUNCHER
CHANNELS = channels(str(OURS))
TABLE = Path(__file__).parents[3] / "docs" / "integrity.md"
Pair = tuple[Sandbox, Sandbox]
READ_HIDDEN = """
import os, sys
for path in sys.argv[1:]:
    try:
        held = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read()
    except OSError:
        continue
    if held:
        print(path)
"""


COLUMNS = ("docker", "bubblewrap", "gvisor")


def is_closed(row: str, back_end: str) -> bool:
    """Whether the documentation calls a channel closed."""
    found = re.search(
        rf"^\| {re.escape(row)} \|(.*)\|(.*)\|(.*)\|$", TABLE.read_text(), re.MULTILINE
    )
    assert found is not None, f"{TABLE} has no row {row!r}"
    return found[1 + COLUMNS.index(back_end)].strip().startswith("closed")


@contextmanager
def signalling(sandbox: Sandbox, program: str) -> Iterator[None]:
    """Run a program that holds its signal during the block; it may be refused."""
    ready, cancel = Event(), Event()

    def sink(_stream: Stream, data: bytes) -> None:
        if b"ready" in data:
            ready.set()

    def run() -> None:
        argv = ("python", "-c", program)
        command = Command(argv=argv, timeout=PATIENCE, sink=sink, cancel=cancel)
        with suppress(RunCancelled):
            sandbox.run(command)
        ready.set()

    thread = Thread(target=run)
    thread.start()
    try:
        assert ready.wait(HANG_SECONDS)
        yield
    finally:
        cancel.set()
        thread.join()


def seen(sandbox: Sandbox, look: str) -> int:
    result = python(sandbox, look)
    assert result.ok, result.stderr
    return int(result.stdout)


def arrives(pair: Pair, name: str) -> bool:
    """Whether a signal of one sandbox reaches the other one."""
    sender, receiver = pair
    channel = channels(f"{sender.mounted(LAUNCHER_MOUNT)}/{LAUNCHER}")[name]
    before = seen(receiver, channel.look)
    with signalling(sender, channel.sender):
        return channel.arrived(before, seen(receiver, channel.look))


@contextmanager
def two(provider: SandboxProvider, image: ImageId, *, network: bool = False) -> Iterator[Pair]:
    mounts = reporter_mounts()
    with (
        provider.open(image, limits=LIMITS, network=network, mounts=mounts) as sender,
        provider.open(image, limits=LIMITS, network=network, mounts=mounts) as receiver,
    ):
        yield sender, receiver


@pytest.fixture(scope="module")
def walled_pair(bubblewrap: BubblewrapProvider, bubblewrap_image: ImageId) -> Iterator[Pair]:
    with two(bubblewrap, bubblewrap_image) as pair:
        yield pair


@pytest.fixture(scope="module")
def pair(provider: DockerProvider, image: ImageId) -> Iterator[Pair]:
    with two(provider, image) as pair:
        yield pair


def arrives_here(channel: Channel) -> bool:
    """Whether the signal of a process of this machine reaches another one."""

    def look() -> int:
        argv = [sys.executable, "-c", channel.look]
        return int(subprocess.run(argv, capture_output=True, check=True, text=True).stdout)

    before = look()
    argv = [sys.executable, "-c", channel.sender]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        try:
            assert sender.stdout.readline() == b"ready\n"
            return channel.arrived(before, look())
        finally:
            sender.terminate()


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_each_channel_works_without_isolation(name: str, tmp_path: Path) -> None:
    copy = shutil.copy(OURS, tmp_path)  # other tests read the file itself
    channel = channels(str(copy))[name]
    if "docker-init" in channel.look and not Path("/sbin/docker-init").exists():
        pytest.skip("needs /sbin/docker-init, which this engine's package does not install")
    # A change of the machine's own may cancel the signal out.
    assert any(arrives_here(channel) for _ in range(5))


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_no_signal_passes_bubblewrap(walled_pair: Pair, name: str) -> None:
    if not is_closed(CHANNELS[name].row, "bubblewrap"):
        pytest.skip(f"{name}: open in bubblewrap, as documented")
    assert not arrives(walled_pair, name)


@pytest.mark.docker
@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_no_signal_passes_docker(pair: Pair, name: str) -> None:
    if not is_closed(CHANNELS[name].row, "docker"):
        pytest.skip(f"{name}: open in Docker, as documented")
    assert not arrives(pair, name)


@pytest.mark.docker
@pytest.mark.parametrize("name", ["abstract socket", "port"])
def test_containers_with_a_public_network_share_no_sockets(
    provider: DockerProvider, image: ImageId, name: str
) -> None:
    with two(provider, image, network=True) as pair:
        assert not arrives(pair, name)


def test_the_counters_of_the_machine_are_empty_in_bubblewrap(walled_pair: Pair) -> None:
    hidden = {*HIDDEN_IN_PROC} - {f"/proc/{name}" for name in stand_ins(1)}
    result = python(walled_pair[0], READ_HIDDEN, *hidden)
    assert (result.stdout, result.exit_code) == ("", 0)


@pytest.mark.docker
def test_the_counters_of_the_machine_are_empty_in_docker(pair: Pair) -> None:
    result = python(pair[0], READ_HIDDEN, *MASKED_PATHS)
    assert (result.stdout, result.exit_code) == ("", 0)
