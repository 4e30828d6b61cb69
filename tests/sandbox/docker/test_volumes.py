"""Volumes that are folders of this machine, held against what the engine itself packs of them."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.integrity.trees import WorkspaceTree, read_tree
from agentbench.sandbox.disk_usage import DiskGauge, DiskUsage, FolderGauge
from agentbench.sandbox.docker.archives import owned_by_user
from agentbench.sandbox.docker.container import ContainerPlan, DockerContainer, WritableFolders
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.sandbox import DockerSandbox
from agentbench.sandbox.docker.volumes import (
    ContainerGauge,
    find_volume,
    gauge_of,
    read_volume,
    write_volume,
)
from agentbench.sandbox.interface import HOME, RESULTS, WORKSPACE, ImageId, Limits
from agentbench.sandbox.ownership import ProcessOwner
from tests.sandbox.conformance_base import python, sh
from tests.sandbox.conformance_trees import FOLDER, LINK, tar_of
from tests.sandbox.docker_fixtures import engine, image

__all__ = ["engine", "image"]

pytestmark = pytest.mark.docker
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="an engine's volumes are for root alone")

AWKWARD = """
mkdir -p a/b/c locked .hidden 'spaces and
lines'
echo 1 > a/b/c/f; chmod 751 a/b/c/f; echo 2 > locked/x; chmod 000 locked/x locked
ln -s /etc/passwd link; ln -s a/b inside; mkfifo pipe; : > empty
head -c 300000 /dev/urandom > 'spaces and
lines/large'
"""


@pytest.fixture
def container(engine: Engine, image: ImageId) -> Iterator[DockerContainer]:
    plan = ContainerPlan(image=image, image_env=(), limits=Limits(), owner=ProcessOwner.current())
    created = DockerContainer(engine, plan)
    created.launch()
    yield created
    created.remove()


@pytest.fixture
def sandbox(engine: Engine, container: DockerContainer) -> DockerSandbox:
    return DockerSandbox(engine, container, mounts={}, cancel=None)


def read_here(container: DockerContainer, path: PurePosixPath) -> WorkspaceTree:
    found = find_volume(container, path)
    assert found is not None
    with read_volume(found, "read") as chunks:
        return read_tree(chunks)


@root_only
def test_volume_is_read_as_the_engine_packs_it(
    engine: Engine, container: DockerContainer, sandbox: DockerSandbox
) -> None:
    assert sh(sandbox, AWKWARD).ok
    with engine.api("read") as api:
        stream, _ = api.get_archive(container.name, f"{WORKSPACE}/.")
    with closing(stream):
        packed = read_tree(stream)
    assert read_here(container, WORKSPACE) == packed
    assert len(packed) >= 10
    with sandbox.read_tree(WORKSPACE) as chunks:
        assert read_tree(chunks) == packed


@root_only
def test_path_outside_of_volumes_is_left_to_the_engine(container: DockerContainer) -> None:
    assert find_volume(container, HOME) is None
    assert find_volume(container, WORKSPACE / ".." / "etc") is None
    assert find_volume(container, PurePosixPath("/workspaces")) is None


@root_only
def test_link_in_place_of_a_folder_is_refused(
    container: DockerContainer, sandbox: DockerSandbox
) -> None:
    assert sh(sandbox, f"ln -s / {RESULTS}/out").ok
    with pytest.raises(SandboxError, match="read"):
        read_here(container, RESULTS / "out" / "etc")


@root_only
def test_tree_that_changes_meanwhile_is_a_sandbox_error(
    container: DockerContainer, sandbox: DockerSandbox
) -> None:
    python(sandbox, "for n in range(3000): open(f'f{n:04}', 'w').write('x' * 5000)")
    found = find_volume(container, WORKSPACE)
    assert found is not None
    with read_volume(found, "read") as chunks:
        next(chunks)
        assert sh(sandbox, "rm -r /workspace/*").ok
        with pytest.raises(SandboxError, match=r"read: .*No such file"):
            list(chunks)


@root_only
def test_volume_of_a_removed_container_is_missing(
    container: DockerContainer, sandbox: DockerSandbox
) -> None:
    assert sh(sandbox, "echo 1 > f").ok
    assert find_volume(container, WORKSPACE) is not None
    container.remove()
    assert find_volume(container, WORKSPACE) is None
    with pytest.raises(SandboxError), sandbox.read_tree(WORKSPACE) as chunks:
        list(chunks)


THERE = "mkdir -p d/e; echo old > d/f; chmod 400 d/f; ln -s /etc/passwd d/l; ln d/f d/g; mkfifo p"
LISTED = "find . -mindepth 1 -printf '%p %y %m %U %G %s %T@ %l\n' | grep -v '^./d ' | sort"
NEW = {
    "plain": (0o644, b"text"),
    "d/f": (0o755, b"new"),
    "d/l": (0o640, b"no link any more"),
    "d/new": (LINK, b"../plain"),
    "p": (0o600, b"no pipe any more"),
    "made": (FOLDER | 0o750, b""),
    "made/x": (0o444, b"\x00\xff" * 5000),
    "deep/er/y": (0o644, b"y"),
    "l\u00e4nge " + "n" * 180: (0o644, b"n"),
}


class Made:
    """A container, as a sandbox and as its volume."""

    def __init__(self, engine: Engine, image: ImageId) -> None:
        plan = ContainerPlan(
            image=image, image_env=(), limits=Limits(), owner=ProcessOwner.current()
        )
        self.container = DockerContainer(engine, plan)
        self.container.launch()
        self.sandbox = DockerSandbox(engine, self.container, mounts={}, cancel=None)
        self._engine = engine

    def write(self, tar: bytes, *below: str) -> bool:
        found = find_volume(self.container, WORKSPACE.joinpath(*below))
        assert found is not None
        return write_volume(found, tar, "write")

    def write_by_engine(self, tar: bytes) -> None:
        with self._engine.api("write", moves_files=True) as api:
            api.put_archive(self.container.name, str(WORKSPACE), owned_by_user(tar))

    def listed(self) -> list[str]:
        return sh(self.sandbox, LISTED).stdout.splitlines()


@pytest.fixture
def created(engine: Engine, image: ImageId) -> Iterator[Callable[[], Made]]:
    with ExitStack() as removed:

        def one() -> Made:
            new = Made(engine, image)
            removed.callback(new.container.remove)
            return new

        yield one


@root_only
def test_files_are_written_as_the_engine_writes_them(created: Callable[[], Made]) -> None:
    one, other = created(), created()
    for each in (one, other):
        assert sh(each.sandbox, f"{THERE}; touch -d @0 d/g d/f d d/e").ok
    assert one.write(tar_of(NEW))
    other.write_by_engine(tar_of(NEW))
    ours = [line for line in one.listed() if not line.startswith("./deep")]
    theirs = [line for line in other.listed() if not line.startswith("./deep")]
    assert ours == theirs
    assert len(ours) >= 9
    assert sh(one.sandbox, "cat deep/er/y d/g && echo 1 >> deep/er/z").stdout == "yold\n"


@root_only
@pytest.mark.parametrize(
    ("there", "entry"),
    [
        ("ln -s /tmp out", "out/f"),
        ("ln -s d out; mkdir d", "out/f"),
        ("echo 1 > file", "file/f"),
        ("mkdir folder", "folder"),
        (":", "../f"),
        (":", "a/../../f"),
        (":", "/tmp/f"),
    ],
)
def test_unusual_entries_are_left_to_the_engine(
    created: Callable[[], Made], there: str, entry: str
) -> None:
    one = created()
    assert sh(one.sandbox, there).ok
    before = one.listed()
    assert not one.write(tar_of({entry: (0o644, b"x")}))
    assert one.listed() == before


@root_only
def test_missing_target_folder_is_created(created: Callable[[], Made]) -> None:
    one = created()
    assert one.write(tar_of({"f": (0o644, b"x")}), "a", "b")
    assert one.write(tar_of({}), "c")
    assert sh(one.sandbox, "cat a/b/f && touch a/b/g c/g").stdout == "x"


@root_only
def test_volume_with_foreign_user_ids_is_left_to_the_engine(
    created: Callable[[], Made],
) -> None:
    one = created()
    found = find_volume(one.container, WORKSPACE)
    assert found is not None
    os.chown(found.root.joinpath(*found.volume), 101_000, 101_000)
    assert not one.write(tar_of({"f": (0o644, b"x")}))


@root_only
def test_malformed_tar_is_reported(created: Callable[[], Made]) -> None:
    one = created()
    with pytest.raises(SandboxError, match="write: not a plain tar"):
        one.write(b"x" * 2_000)


@root_only
def test_sandbox_writes_directly_and_by_the_engine(created: Callable[[], Made]) -> None:
    one = created()
    assert sh(one.sandbox, "mkdir folder d; ln -s d link").ok
    one.sandbox.write_tree(
        PurePosixPath(WORKSPACE), tar_of({"link/f": (0o644, b"x"), "g": (0o644, b"y")})
    )
    assert sh(one.sandbox, "cat d/f g").stdout == "xy"


WRITE = """
head -c 5M /dev/urandom > /workspace/a
head -c 3M /dev/urandom > /results/b
head -c 2M /dev/urandom > /home/agentbench/c
truncate -s 500M /workspace/sparse
cd /workspace && mkdir many && for n in $(seq 100); do : > many/$n; done
"""
HOLD = (
    "exec 9> /workspace/x; rm /workspace/x; head -c 4M /dev/urandom >&9; echo held; exec sleep 600"
)


def described(gauge: DiskGauge) -> DiskUsage:
    """The last word of a gauge."""
    return [found for found in gauge.measure() if found is not None][-1]


def wrote(container: DockerContainer, script: str, until: bytes = b"done") -> None:
    """Run a script in it, until it says so."""
    line = f"{script}\necho done"
    started = container.begin(["/bin/sh", "-c", line], {})
    heard = b""
    while until not in heard:
        assert not started.stream.ended, heard
        heard += b"".join(frame.data for frame in started.stream.receive(0.5))
    started.stream.close()


@pytest.mark.parametrize("inside", [True, False])
def test_all_writable_places_count(container: DockerContainer, inside: bool) -> None:
    gauge = ContainerGauge(container=container) if inside else gauge_of(container)
    if not inside and not isinstance(gauge, FolderGauge):
        pytest.skip("the engine's volumes are no folders of this machine, or not for us")
    before = described(gauge)
    wrote(container, WRITE)
    after = described(gauge)
    assert 100 <= after.files - before.files <= 120
    assert 10 <= (after.bytes - before.bytes) >> 20 <= 12


@root_only
def test_a_file_without_a_name_is_seen_from_outside(container: DockerContainer) -> None:
    gauge = gauge_of(container)
    if not isinstance(gauge, FolderGauge):
        pytest.skip("the engine's volumes are no folders of this machine")
    before = described(gauge)
    wrote(container, HOLD, b"held")
    assert (described(gauge).bytes - before.bytes) >> 20 == 4


def test_folders_of_a_remote_engine_are_measured_inside(
    container: DockerContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = WritableFolders(volumes={}, layer="/no/such/folder", root=None)
    monkeypatch.setattr(container, "writable", elsewhere)
    gauge = gauge_of(container)
    assert isinstance(gauge, ContainerGauge)
    assert gauge.free() is None


def test_stopped_container_yields_no_measurement(container: DockerContainer) -> None:
    container.kill(idle=False)
    assert list(ContainerGauge(container=container).measure()) == []


@pytest.mark.parametrize("script", ["exit 0", "kill -9 $$"])
def test_ended_measurement_yields_nothing(
    container: DockerContainer, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr("agentbench.sandbox.docker.volumes._MEASURE_SCRIPT", script)
    assert [
        reported
        for reported in ContainerGauge(container=container).measure()
        if reported is not None
    ] == []
