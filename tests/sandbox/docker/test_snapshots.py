import uuid

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Limits
from tests.sandbox.conformance_base import sh
from tests.sandbox.docker_fixtures import engine, image, left_in, provider
from tests.sandbox.image_registry import Registry, running_registry

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mib=256, disk_mib=256)
NOTE = b'{"what": "a note with \xe2\x80\x9cquotes\xe2\x80\x9d = and\nlines"}'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory):
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def key(provider: DockerProvider):
    made = f"shared-{uuid.uuid4().hex}"
    yield made
    snapshot = provider.find(made)
    if snapshot is not None:
        provider.discard(snapshot)


def snapshot_of(provider: DockerProvider, image: ImageId, key: str, content: str):
    with provider.open(image, limits=LIMITS, network=False) as box:
        assert sh(box, f"echo {content} > kept.txt; mkdir sub; ln -s kept.txt sub/soft").ok
        assert sh(box, "python -m venv --without-pip ~/env && chmod +x kept.txt").ok
        return box.snapshot(key)


def images_named(engine: Engine, place: str) -> list[str]:
    with engine.api("look for images") as api:
        tags = [tag for each in api.images() for tag in each["RepoTags"] or ()]
    return [tag for tag in tags if tag.startswith(place)]


def test_a_snapshot_is_had_back_with_its_note(
    provider: DockerProvider, engine: Engine, image: ImageId, registry: Registry, key: str
) -> None:
    name = f"{registry.place}/snapshot:one"
    before = left_in(engine)
    provider.push(snapshot_of(provider, image, key, "precious"), name, NOTE)
    provider.discard(provider.find(key))
    assert provider.find(key) is None
    assert provider.pull(name, key) == NOTE
    with provider.open(provider.find(key), limits=LIMITS, network=False) as box:
        assert sh(box, "cat sub/../kept.txt; test -x kept.txt && readlink sub/soft").stdout == (
            "precious\nkept.txt\n"
        )
        assert sh(box, "~/env/bin/python -c 'print(1)'").stdout == "1\n"
        assert sh(box, "echo new > another.txt").ok, "it belongs to the sandbox's user"
    assert images_named(engine, registry.place) == [], "no name of the registry stays"
    assert left_in(engine) == before


def test_what_is_not_there_is_none(provider: DockerProvider, registry: Registry, key: str) -> None:
    assert provider.pull(f"{registry.place}/snapshot:absent", key) is None
    assert provider.pull(f"{registry.place}/nothing/at/all:absent", key) is None
    assert provider.find(key) is None


def test_an_image_that_is_no_snapshot_is_not_taken(
    provider: DockerProvider, engine: Engine, image: ImageId, registry: Registry, key: str
) -> None:
    name = f"{registry.place}/snapshot:foreign"
    with engine.api("push a foreign image") as api:
        api.tag(image, f"{registry.place}/snapshot", "foreign")
        said = list(api.push(f"{registry.place}/snapshot", "foreign", stream=True, decode=True))
        assert not [line for line in said if "error" in line]
    assert registry.tags("team/snapshot")
    assert provider.pull(name, key) is None
    assert provider.find(key) is None
    assert images_named(engine, registry.place) == []


def test_a_registry_that_is_not_there_is_named(
    provider: DockerProvider, engine: Engine, image: ImageId, key: str
) -> None:
    with pytest.raises(SandboxError, match=r"cannot pull 127\.0\.0\.1:1/team/snapshot:one: .+"):
        provider.pull("127.0.0.1:1/team/snapshot:one", key)
    snapshot = snapshot_of(provider, image, key, "kept here")
    with pytest.raises(SandboxError, match=r"cannot push 127\.0\.0\.1:1/team/snapshot:one: .+"):
        provider.push(snapshot, "127.0.0.1:1/team/snapshot:one", NOTE)
    assert provider.find(key) == snapshot
    assert images_named(engine, "127.0.0.1:1") == []


def test_a_snapshot_that_is_gone_is_not_pushed(
    provider: DockerProvider, image: ImageId, registry: Registry, key: str
) -> None:
    snapshot = snapshot_of(provider, image, key, "gone")
    provider.discard(snapshot)
    with pytest.raises(DockerNotFoundError, match=key):
        provider.push(snapshot, f"{registry.place}/snapshot:gone", NOTE)
    assert "gone" not in registry.tags("team/snapshot")
