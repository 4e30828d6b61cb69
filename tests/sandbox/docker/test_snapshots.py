import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker import cleanup
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Limits, SandboxUse
from tests.patience import wait_until
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, left_in, of_this_process, provider
from tests.sandbox.image_registry import Registry, running_registry

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

SMALL_LIMITS = Limits(memory_mib=256, disk_mib=256)
NOTE = b'{"what": "a note with \xe2\x80\x9cquotes\xe2\x80\x9d = and\nlines"}'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory):
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def key(provider: DockerProvider):
    created = f"shared-{uuid.uuid4().hex}"
    yield created
    snapshot = provider.find(created)
    if snapshot is not None:
        provider.discard(snapshot)


def snapshot_of(provider: DockerProvider, image: ImageId, key: str, content: str):
    with provider.open(image, limits=SMALL_LIMITS, network=False) as box:
        assert sh(box, f"echo {content} > kept.txt; mkdir sub; ln -s kept.txt sub/soft").ok
        assert sh(box, "python -m venv --without-pip ~/env && chmod +x kept.txt").ok
        return box.snapshot(key)


def images_named(engine: Engine, place: str) -> list[str]:
    with engine.api("look for images") as api:
        tags = [tag for each in api.images() for tag in each["RepoTags"] or ()]
    return [tag for tag in tags if tag.startswith(place)]


def test_pulled_snapshot_has_its_note(
    provider: DockerProvider, engine: Engine, image: ImageId, registry: Registry, key: str
) -> None:
    name = f"{registry.place}/snapshot:one"
    before = left_in(engine)
    provider.push(snapshot_of(provider, image, key, "precious"), name, NOTE)
    provider.discard(provider.find(key))
    assert provider.find(key) is None
    assert provider.pull(name, key) == NOTE
    with provider.open(provider.find(key), limits=SMALL_LIMITS, network=False) as box:
        assert sh(box, "cat sub/../kept.txt; test -x kept.txt && readlink sub/soft").stdout == (
            "precious\nkept.txt\n"
        )
        assert sh(box, "~/env/bin/python -c 'print(1)'").stdout == "1\n"
        assert sh(box, "echo new > another.txt").ok, "it belongs to the sandbox's user"
    assert images_named(engine, registry.place) == [], "no name of the registry stays"
    assert left_in(engine) == before


def test_missing_snapshot_is_none(provider: DockerProvider, registry: Registry, key: str) -> None:
    assert provider.pull(f"{registry.place}/snapshot:absent", key) is None
    assert provider.pull(f"{registry.place}/nothing/at/all:absent", key) is None
    assert provider.find(key) is None


def test_foreign_image_is_not_pulled_as_a_snapshot(
    provider: DockerProvider, engine: Engine, image: ImageId, registry: Registry, key: str
) -> None:
    name = f"{registry.place}/snapshot:foreign"
    with engine.api("push a foreign image") as api:
        api.tag(image, f"{registry.place}/snapshot", "foreign")
        reported = list(api.push(f"{registry.place}/snapshot", "foreign", stream=True, decode=True))
        assert not [line for line in reported if "error" in line]
    assert registry.tags("team/snapshot")
    assert provider.pull(name, key) is None
    assert provider.find(key) is None
    assert images_named(engine, registry.place) == []


def test_unreachable_registry_is_named(
    provider: DockerProvider, engine: Engine, image: ImageId, key: str
) -> None:
    with pytest.raises(SandboxError, match=r"cannot pull 127\.0\.0\.1:1/team/snapshot:one: .+"):
        provider.pull("127.0.0.1:1/team/snapshot:one", key)
    snapshot = snapshot_of(provider, image, key, "kept here")
    with pytest.raises(SandboxError, match=r"cannot push 127\.0\.0\.1:1/team/snapshot:one: .+"):
        provider.push(snapshot, "127.0.0.1:1/team/snapshot:one", NOTE)
    assert provider.find(key) == snapshot
    assert images_named(engine, "127.0.0.1:1") == []


def test_removed_snapshot_cannot_be_pushed(
    provider: DockerProvider, image: ImageId, registry: Registry, key: str
) -> None:
    snapshot = snapshot_of(provider, image, key, "gone")
    provider.discard(snapshot)
    with pytest.raises(DockerNotFoundError, match=key):
        provider.push(snapshot, f"{registry.place}/snapshot:gone", NOTE)
    assert "gone" not in registry.tags("team/snapshot")


KEY = "test-docker-snapshot"


@pytest.fixture
def snapshot_key(provider: DockerProvider) -> Iterator[str]:
    yield KEY
    if (snapshot := provider.find(KEY)) is not None:
        provider.discard(snapshot)


def nameless(engine: Engine) -> set[str]:
    """The nameless images of this process; those of others come and go."""
    own = of_this_process("snapshot")
    with engine.api("list nameless images") as api:
        found: list[str] = api.images(quiet=True, filters={"dangling": True, **own})
    return set(found)


def await_nothing_new(engine: Engine, before: set[str]) -> None:
    """No nameless image stays."""
    wait_until(lambda: nameless(engine) <= before)


def test_a_replaced_snapshot_leaves_no_image(
    provider: DockerProvider, engine: Engine, image: ImageId, snapshot_key: str
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        sandbox.snapshot(snapshot_key)
        sh(sandbox, "touch more")
        snapshot = sandbox.snapshot(snapshot_key)
    await_nothing_new(engine, before)
    provider.discard(snapshot)
    await_nothing_new(engine, before)


def test_failed_snapshot_leaves_no_image(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        with pytest.raises(SandboxError):
            sandbox.snapshot("no snapshot_key: it has spaces")
        assert sh(sandbox, "echo fine").stdout == "fine\n"
    await_nothing_new(engine, before)
    assert left_in(engine) == frozenset()


def test_a_workspace_on_a_volume_is_not_stored(
    provider: DockerProvider, engine: Engine, image: ImageId, tmp_path: Path
) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(f"FROM {image}\nVOLUME /workspace\n")
    declared = provider.resolve_image(None, dockerfile=dockerfile)
    try:
        for source, plain in ((declared, False), (image, True)):
            with provider.open(
                source, limits=LIMITS, network=False, use=SandboxUse(plain_workspace=plain)
            ) as sandbox:
                assert sh(sandbox, "echo here > file; cat file").stdout == "here\n"
                with pytest.raises(SandboxError, match="/workspace is on a volume"):
                    sandbox.snapshot(KEY)
    finally:
        with engine.api("remove the image") as api:
            api.remove_image(declared)
    assert provider.find(KEY) is None


def test_snapshot_is_one_layer_of_differences(
    provider: DockerProvider, engine: Engine, image: ImageId, snapshot_key: str
) -> None:
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "for n in 1 2 3 4 5; do head -c 4000000 /dev/urandom > $n; done").ok
        first = sandbox.snapshot(f"{snapshot_key}-first")
    try:
        with provider.open(first, limits=LIMITS, network=False) as sandbox:
            assert sh(sandbox, "rm 1; echo 2 > 2; touch new").ok
            second = sandbox.snapshot(snapshot_key)
        with engine.api("see the layers") as api:
            layers = api.history(second)
        assert layers[0]["Size"] < 100_000
        assert layers[1]["Size"] >= 20_000_000
    finally:
        provider.discard(first)


def test_snapshot_discarded_in_use_stays_while_its_owner_is_alive(
    provider: DockerProvider, engine: Engine, image: ImageId, snapshot_key: str
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        sh(sandbox, "echo text > file")
        snapshot = sandbox.snapshot(snapshot_key)
    own = engine.image(snapshot).id
    with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
        provider.discard(snapshot)
        assert provider.find(snapshot_key) is None
        assert sh(sandbox, "cat file").stdout == "text\n"
    assert own in nameless(engine)
    found = [leftover for leftover in cleanup.find_engine_orphans(engine) if leftover.id == own]
    assert [(leftover.kind, leftover.owner_alive) for leftover in found] == [("image", True)]
    # A snapshot is nameless while it is made, too: its maker lives, so it is not removed.
    assert own not in {leftover.id for leftover in cleanup.remove_dead_orphans(engine)}
    assert own in nameless(engine)
    cleanup.remove_engine_orphans(engine, found, also_in_use=True)
    assert own not in nameless(engine)
    await_nothing_new(engine, before)


def test_network_settings_are_not_part_of_a_snapshot(
    engine: Engine, image: ImageId, snapshot_key: str
) -> None:
    provider = DockerProvider(engine, host_env={"PIP_INDEX_URL": "https://index.example/simple"})
    with provider.open(image, limits=LIMITS, network=True) as sandbox:
        assert sh(sandbox, "echo $PIP_INDEX_URL").stdout == "https://index.example/simple\n"
        snapshot = sandbox.snapshot(snapshot_key)
    with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "echo $PIP_INDEX_URL$SSL_CERT_FILE").stdout == "\n"
