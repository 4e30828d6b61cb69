"""Sandboxes inside one container: as tight as containers, and nothing is left to the next one."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import PurePosixPath
from threading import Event

import pytest

from agentbench.core.files import FileContent
from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.docker.shared_containers import NestingSandbox
from agentbench.sandbox.interface import ImageId, Limits, Sandbox, SandboxUse
from agentbench.tasks.users import ROOT_USER
from agentbench.test_runs.python_runners import reporter_mounts
from tests.sandbox.adapted_provider import AdaptedProvider
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.conformance_commands import CommandConformance
from tests.sandbox.conformance_disk import DiskConformance
from tests.sandbox.conformance_endings import EndingConformance
from tests.sandbox.conformance_isolation import IsolationConformance
from tests.sandbox.conformance_limits import LimitConformance
from tests.sandbox.docker_fixtures import engine, image, leftovers, reachable_host
from tests.sandbox.e2e.test_side_channels import CHANNELS, Pair, arrives, is_closed, pair

__all__ = ["engine", "image", "leftovers", "pair", "reachable_host"]

pytestmark = pytest.mark.docker

HOLDS_OTHERS = SandboxUse(nests=True)


class _Nesting(AdaptedProvider):
    """Opens every sandbox in a container of its own that holds it."""

    def adapted(self, limits: Limits, use: SandboxUse) -> tuple[Limits, SandboxUse]:
        return limits, replace(use, nests=True)

    def shown(self, sandbox: Sandbox, cancel: Event | None) -> AbstractContextManager[Sandbox]:
        if isinstance(sandbox, NestingSandbox):  # one with a network is ordinary
            return sandbox.nested(cancel)
        return super().shown(sandbox, cancel)


@pytest.fixture(scope="module")
def provider(engine: Engine) -> DockerProvider:
    return _Nesting(engine)


class TestNestedConformance(
    CommandConformance,
    DiskConformance,
    EndingConformance,
    IsolationConformance,
    LimitConformance,
):
    """All that is asked of any sandbox, except for trees, snapshots and early starts."""

    def test_files_last_from_one_command_to_the_next(self, sandbox: Sandbox) -> None:
        sh(sandbox, "echo 1 > here; echo 2 > /tmp/there")
        assert sh(sandbox, "cat here; ls /tmp").stdout == "1\n"


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_no_signal_passes_between_nested_sandboxes(pair: Pair, name: str) -> None:
    if not is_closed(CHANNELS[name].row, "docker"):
        pytest.skip(f"{name}: open in Docker, as documented")
    assert not arrives(pair, name)


@pytest.fixture(scope="module")
def container(engine: Engine, image: ImageId) -> Iterator[NestingSandbox]:
    opened = DockerProvider(engine).open(
        image, limits=LIMITS, network=False, mounts=reporter_mounts(), use=HOLDS_OTHERS
    )
    with opened as sandbox:
        assert isinstance(sandbox, NestingSandbox)
        yield sandbox


# What a command can leave, and how the next sandbox would see it.
LEAVES = {
    "a file of the workspace": ("echo 1 > left", "cat left"),
    "a file of the system": ("echo 1 > /home/agentbench/left", "cat /home/agentbench/left"),
    "a program": ("echo 1 > /opt/venv/bin/left", "cat /opt/venv/bin/left"),
    "a result": ("echo 1 > /results/left", "ls /results"),
    "a temporary file": ("echo 1 > /tmp/left; echo 1 > /var/tmp/left", "ls /tmp /var/tmp"),
    "shared memory": ("echo 1 > /dev/shm/left", "ls /dev/shm"),
    "a process": ("setsid sleep 600 > /dev/null 2>&1 &", "cat /proc/[0-9]*/comm"),
    "a semaphore": ("ipcmk -S 1 -p 0666", "tail -n +2 /proc/sysvipc/sem"),
    "a time of a device": ("touch /dev/null /dev/tty", "stat -c %y /dev/null /dev/tty"),
    "a message queue": ("touch /dev/mqueue/left", "ls /dev/mqueue"),
    "a number of files": (
        "for at in 1 2 3 4 5 6 7 8 9; do echo > /tmp/$at; echo > /dev/shm/$at; done",
        "touch /tmp/x /dev/shm/x; stat -c %i /tmp/x /dev/shm/x /dev/null /dev/tty",
    ),
    "a number of processes": ("true; true; (true)", "sh -c 'echo $$'; cat /proc/self/stat"),
    "peak memory": ("head -c 100M /dev/zero | tail -c 99M | wc -c", "ls /sys/fs/cgroup"),
}


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_next_sandbox_finds_no_traces(container: NestingSandbox, name: str) -> None:
    leave, look = LEAVES[name]

    def seen() -> str:
        """What a fresh sandbox sees, without what changes by itself."""
        with container.nested() as sandbox:
            return " ".join(sh(sandbox, look).stdout.split()[:8])

    before = seen()
    with container.nested() as sandbox:
        assert sh(sandbox, leave).ok
    assert seen() == before


PLAIN = """
id
ulimit -a
umask
env | sort
hostname
stat -c '%n %a %U:%G' / /tmp /dev /dev/[f-z]* /workspace /results /etc/* /home/* /opt/venv
cat /etc/passwd /etc/hosts /proc/cpuinfo /proc/meminfo
ls -A / /tmp /workspace /results /sys
cat /agentbench/*/*.py | cksum
"""


def test_nested_sandbox_looks_like_a_container(
    container: NestingSandbox, engine: Engine, image: ImageId
) -> None:
    mounts = reporter_mounts()
    opened = DockerProvider(engine).open(image, limits=LIMITS, network=False, mounts=mounts)
    with opened as own, container.nested() as sandbox:
        assert sh(sandbox, PLAIN).stdout.splitlines() == sh(own, PLAIN).stdout.splitlines()


def test_files_and_folders_share_one_device_number(container: NestingSandbox) -> None:
    with container.nested() as sandbox:
        seen = sh(sandbox, "echo > new; stat -c %d / /etc /etc/passwd /bin/sh . new").stdout
    assert len(set(seen.split())) == 1


REFUSED = {
    "mount": "mount -t tmpfs none /tmp",
    "name spaces": "unshare --user true",
    "device": "mknod /tmp/device c 1 1",
    "first process": "cat /proc/1/environ",
    "bubblewrap": "kill -0 1",
    "overlay": "ls /agentbench/nesting/enter",
    "system": "echo 1 > /proc/sys/kernel/panic",
    "control groups": "test -e /sys/fs/cgroup/memory || test -e /sys/fs/cgroup/memory.max",
    "switch": "setpriv --reuid 0 true",
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_nested_sandbox_cannot_be_left(container: NestingSandbox, name: str) -> None:
    with container.nested() as sandbox:
        assert not sh(sandbox, REFUSED[name]).ok


def test_files_cannot_be_written_through_links(container: NestingSandbox) -> None:
    files = {PurePosixPath("out/enter"): FileContent(content=b"exit 3\n", executable=False)}
    with container.nested() as sandbox:
        sh(sandbox, "ln -s /results out")
        sandbox.write_tree(sandbox.workspace, tar_of_files(files))
        assert sh(sandbox, "cat out/enter; ls /results").stdout == "exit 3\n"  # no link any more
    with container.nested() as sandbox:
        assert sh(sandbox, "true").ok


def test_files_that_cannot_be_written_fail_the_next_command(container: NestingSandbox) -> None:
    files = {PurePosixPath("sub/file"): FileContent(content=b"1", executable=False)}
    with container.nested() as sandbox:
        sh(sandbox, "mkdir sub && chmod 555 sub && touch sub")
        sandbox.write_tree(PurePosixPath("/etc"), tar_of_files(files))
        with pytest.raises(SandboxError, match="Permission denied"):
            sh(sandbox, "true")


def test_results_stay_readable_after_a_kill(container: NestingSandbox) -> None:
    with container.nested() as sandbox:
        sh(sandbox, "echo 1 > /results/one")
        sandbox.kill()
        with sandbox.read_tree(sandbox.results) as chunks:
            read = io.BytesIO(b"".join(chunks))
        with pytest.raises(SandboxError, match="was killed"):
            sh(sandbox, "true")
        with pytest.raises(SandboxError, match="only /results"):
            sandbox.read_tree(sandbox.workspace).__enter__()
    with tarfile.open(fileobj=read) as tar:
        assert tar.getnames() == ["one"]


def test_its_commands_end_when_the_attempt_is_cancelled(container: NestingSandbox) -> None:
    cancel = Event()
    with container.nested(cancel) as sandbox:
        cancel.set()
        with pytest.raises(RunCancelled):
            sh(sandbox, "sleep 600")
    with container.nested() as sandbox:
        assert sh(sandbox, "cat /proc/[0-9]*/comm").stdout.split().count("sleep") == 0


def test_an_image_without_the_programs_gets_ordinary_sandboxes(
    engine: Engine, image: ImageId
) -> None:
    provider = DockerProvider(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        sh(sandbox, "true")
    with engine.api("make an image") as api:
        created = api.create_container(
            image, ["mv", "/usr/bin/setpriv", "/usr/bin/gone"], user="0:0"
        )
        try:
            api.start(created["Id"])
            assert api.wait(created["Id"])["StatusCode"] == 0
            poor = ImageId(api.commit(created["Id"])["Id"])
        finally:
            api.remove_container(created["Id"], force=True)
    try:
        for _ in range(2):
            with provider.open(poor, limits=LIMITS, network=False, use=HOLDS_OTHERS) as sandbox:
                assert not isinstance(sandbox, NestingSandbox)
                status = sh(sandbox, "grep -E 'Seccomp:|CapBnd' /proc/self/status").stdout.split()
                assert status[1::2] == ["0000000000000020", "2"]  # as any container: CAP_KILL
    finally:
        with engine.api("remove an image") as api:
            api.remove_image(poor, force=True)


@pytest.mark.parametrize(
    "limits",
    [replace(LIMITS, user=ROOT_USER), replace(LIMITS, runtime="runc")],
    ids=["of another user", "with a runtime of its own"],
)
def test_some_requests_get_ordinary_containers(engine: Engine, limits: Limits) -> None:
    assert not DockerProvider(engine).may_nest(limits)
    assert DockerProvider(engine).may_nest(LIMITS)
