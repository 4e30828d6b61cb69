"""Volumes that are folders of this machine, held against what the engine itself packs of them."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.integrity.trees import WorkspaceTree, read_tree
from agentbench.sandbox.docker.container import ContainerPlan, DockerContainer
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.sandbox import DockerSandbox
from agentbench.sandbox.docker.volumes import find_volume, read_volume
from agentbench.sandbox.interface import HOME, RESULTS, WORKSPACE, ImageId, Limits
from agentbench.sandbox.ownership import ProcessOwner
from tests.sandbox.conformance_base import python, sh
from tests.sandbox.docker_fixtures import engine, image

__all__ = ["engine", "image"]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="an engine's volumes are for root alone"),
]

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
    made = DockerContainer(engine, plan)
    made.launch()
    yield made
    made.remove()


@pytest.fixture
def sandbox(engine: Engine, container: DockerContainer) -> DockerSandbox:
    return DockerSandbox(engine, container, mounts={}, cancel=None)


def read_here(container: DockerContainer, path: PurePosixPath) -> WorkspaceTree:
    found = find_volume(container, path)
    assert found is not None
    with read_volume(found, "read") as chunks:
        return read_tree(chunks)


def test_a_volume_is_what_the_engine_packs_of_it(
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


def test_what_lies_in_no_volume_is_left_to_the_engine(container: DockerContainer) -> None:
    assert find_volume(container, HOME) is None
    assert find_volume(container, WORKSPACE / ".." / "etc") is None
    assert find_volume(container, PurePosixPath("/workspaces")) is None


def test_a_link_in_the_place_of_a_folder_is_refused(
    container: DockerContainer, sandbox: DockerSandbox
) -> None:
    assert sh(sandbox, f"ln -s / {RESULTS}/out").ok
    with pytest.raises(SandboxError, match="read"):
        read_here(container, RESULTS / "out" / "etc")


def test_a_tree_that_changes_meanwhile_is_no_other_error(
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


def test_the_volume_of_a_container_that_is_gone_is_gone(
    container: DockerContainer, sandbox: DockerSandbox
) -> None:
    assert sh(sandbox, "echo 1 > f").ok
    assert find_volume(container, WORKSPACE) is not None
    container.remove()
    assert find_volume(container, WORKSPACE) is None
    with pytest.raises(SandboxError), sandbox.read_tree(WORKSPACE) as chunks:
        list(chunks)
