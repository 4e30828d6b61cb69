"""What is put into a volume from here, held against what the engine makes of the same tar."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.archives import owned_by_user
from agentbench.sandbox.docker.container import ContainerPlan, DockerContainer
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.sandbox import DockerSandbox
from agentbench.sandbox.docker.volumes import find_volume, write_volume
from agentbench.sandbox.interface import WORKSPACE, ImageId, Limits
from agentbench.sandbox.ownership import ProcessOwner
from tests.sandbox.conformance_base import sh
from tests.sandbox.conformance_trees import FOLDER, LINK, tar_of
from tests.sandbox.docker_fixtures import engine, image

__all__ = ["engine", "image"]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="an engine's volumes are for root alone"),
]

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
def made(engine: Engine, image: ImageId) -> Iterator[Callable[[], Made]]:
    with ExitStack() as removed:

        def one() -> Made:
            new = Made(engine, image)
            removed.callback(new.container.remove)
            return new

        yield one


def test_files_are_what_the_engine_makes_of_them(made: Callable[[], Made]) -> None:
    one, other = made(), made()
    for each in (one, other):
        assert sh(each.sandbox, f"{THERE}; touch -d @0 d/g d/f d d/e").ok
    assert one.write(tar_of(NEW))
    other.write_by_engine(tar_of(NEW))
    ours = [line for line in one.listed() if not line.startswith("./deep")]
    theirs = [line for line in other.listed() if not line.startswith("./deep")]
    assert ours == theirs
    assert len(ours) >= 9
    assert sh(one.sandbox, "cat deep/er/y d/g && echo 1 >> deep/er/z").stdout == "yold\n"


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
def test_what_is_no_matter_of_course_is_left_to_the_engine(
    made: Callable[[], Made], there: str, entry: str
) -> None:
    one = made()
    assert sh(one.sandbox, there).ok
    before = one.listed()
    assert not one.write(tar_of({entry: (0o644, b"x")}))
    assert one.listed() == before


def test_a_folder_to_write_below_is_made(made: Callable[[], Made]) -> None:
    one = made()
    assert one.write(tar_of({"f": (0o644, b"x")}), "a", "b")
    assert one.write(tar_of({}), "c")
    assert sh(one.sandbox, "cat a/b/f && touch a/b/g c/g").stdout == "x"


def test_a_volume_whose_users_have_other_numbers_here_is_left_to_the_engine(
    made: Callable[[], Made],
) -> None:
    one = made()
    found = find_volume(one.container, WORKSPACE)
    assert found is not None
    os.chown(found.root.joinpath(*found.volume), 101_000, 101_000)
    assert not one.write(tar_of({"f": (0o644, b"x")}))


def test_what_is_no_tar_is_said(made: Callable[[], Made]) -> None:
    one = made()
    with pytest.raises(SandboxError, match="write: not a plain tar"):
        one.write(b"x" * 2_000)


def test_the_sandbox_writes_this_way_and_by_the_engine(made: Callable[[], Made]) -> None:
    one = made()
    assert sh(one.sandbox, "mkdir folder d; ln -s d link").ok
    one.sandbox.write_tree(
        PurePosixPath(WORKSPACE), tar_of({"link/f": (0o644, b"x"), "g": (0o644, b"y")})
    )
    assert sh(one.sandbox, "cat d/f g").stdout == "xy"
