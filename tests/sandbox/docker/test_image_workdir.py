"""An image's own folder as the workspace, from the first sandbox to one of a snapshot."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pytest

from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId
from tests.sandbox.conformance_base import LIMITS, PATIENCE, sh
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker
APP = PurePosixPath("/app")


@pytest.fixture
def foreign(
    provider: DockerProvider, engine: Engine, image: ImageId, tmp_path: Path
) -> Iterator[ImageId]:
    """An image with files of root's in /app."""
    dockerfile = tmp_path / "Dockerfile"
    (tmp_path / "note").write_text(uuid4().hex)
    dockerfile.write_text(f"FROM {image}\nUSER root\nCOPY note /app/deep/note\nWORKDIR /app\n")
    below = provider.resolve_image(None, dockerfile=dockerfile)
    made = provider.resolve_image(None, dockerfile=dockerfile, workdir=APP)
    yield made
    with engine.api("remove task images") as api:
        for own in (made, below):
            api.remove_image(own)


def test_the_workspace_is_there_with_what_the_image_holds_and_is_the_users(
    provider: DockerProvider, foreign: ImageId
) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        assert box.workspace == APP
        assert sh(box, "pwd; ls deep; echo new >> deep/note && touch top").stdout == "/app\nnote\n"


def test_the_scripts_own_folders_are_there_and_writable(
    provider: DockerProvider, foreign: ImageId
) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        box.write_tree(PurePosixPath("/tests"), tar_of_file("test.sh", b"echo 1"))
        done = sh(box, "sh /tests/test.sh > /logs/verifier/reward.txt && touch /solution/a")
        assert done.ok, done.stderr
        box.kill()
        with box.read_tree(PurePosixPath("/logs/verifier")) as chunks:
            assert b"reward.txt" in b"".join(chunks)


def test_a_snapshot_has_the_workspace_as_it_was_left(
    provider: DockerProvider, foreign: ImageId
) -> None:
    with provider.open(foreign, limits=LIMITS, network=False) as box:
        sh(box, "rm -r deep && echo mine > kept")
        snapshot = box.snapshot(f"test-{uuid4().hex}")
    try:
        with provider.open(snapshot, limits=LIMITS, network=False) as box:
            assert box.workspace == APP
            assert sh(box, "ls; touch more && ls -ld . | cut -c1-10").stdout == "kept\ndrwxr-xr-x\n"
    finally:
        provider.discard(snapshot)


def test_it_is_made_once(provider: DockerProvider, foreign: ImageId) -> None:
    assert foreign != provider.resolve_image(None, workdir=APP)
    first = provider.resolve_image(None, workdir=APP)
    assert provider.resolve_image(None, workdir=APP) == first
    assert provider.resolve_image(None, workdir=PurePosixPath("/srv/work")) != first
    with provider.open(first, limits=LIMITS, network=False) as box:
        done = box.run(Command(argv=("ls", "-A"), timeout=PATIENCE))
        assert (done.stdout, done.exit_code) == ("", 0)


@pytest.mark.parametrize("folder", ["/tmp", "/tmp/deep", "/home", "/opt", "/solution", "/srv"])
def test_a_shared_folder_of_the_image_can_be_the_workspace(
    provider: DockerProvider, engine: Engine, image: ImageId, tmp_path: Path, folder: str
) -> None:
    dockerfile, workdir = tmp_path / "Dockerfile", PurePosixPath(folder)
    (tmp_path / "note").write_text(uuid4().hex)
    dockerfile.write_text(f"FROM {image}\nUSER root\nCOPY note {folder}/deep/note\n")
    below = provider.resolve_image(None, dockerfile=dockerfile)
    own = provider.resolve_image(None, dockerfile=dockerfile, workdir=workdir)
    snapshot = None
    try:
        with provider.open(own, limits=LIMITS, network=False) as box:
            box.write_tree(box.workspace, tar_of_file("given", b"x"))
            shown = sh(box, "pwd; cat deep/note given; echo mine > kept; mktemp > /dev/null")
            assert (shown.stdout, shown.exit_code) == (
                f"{folder}\n{(tmp_path / 'note').read_text()}x",
                0,
            )
            snapshot = box.snapshot(f"test-{uuid4().hex}")
        with provider.open(snapshot, limits=LIMITS, network=False) as box:
            assert sh(box, "cat kept given deep/note").ok
            box.kill()
            with box.read_tree(workdir) as chunks:
                assert b"kept" in b"".join(chunks)
    finally:
        if snapshot is not None:
            provider.discard(snapshot)
        with engine.api("remove task images") as api:
            for each in (own, below):
                api.remove_image(each)
