from collections.abc import Iterator

import pytest

from agentbench.sandbox.docker.cleanup import StoredImage, stored_images
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

KEY = "test-docker-kept"


@pytest.fixture
def snapshot(provider: DockerProvider, image: ImageId) -> Iterator[str]:
    with provider.open(image, limits=LIMITS, network=False) as box:
        sh(box, "head -c 3000000 /dev/urandom > file")
        made = box.snapshot(KEY)
    yield made
    provider.discard(made)


def kept(engine: Engine) -> StoredImage:
    (found,) = (each for each in stored_images(engine) if each.key == KEY)
    return found


def test_a_snapshot_takes_what_no_other_image_has_and_is_in_use_while_a_sandbox_is(
    engine: Engine, provider: DockerProvider, snapshot: str
) -> None:
    idle = kept(engine)
    assert 3_000_000 <= idle.size_bytes < 30_000_000, "not the base image's size, too"
    assert not idle.in_use
    with provider.open(snapshot, limits=LIMITS, network=False):
        assert kept(engine).in_use
    assert not kept(engine).in_use
