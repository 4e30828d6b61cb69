"""Snapshots as images: replaced, discarded while in use, failed half-way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker import cleanup
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, SandboxUse
from tests.patience import wait_until
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, left_in, of_this_process, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

KEY = "test-docker-snapshot"


@pytest.fixture
def key(provider: DockerProvider) -> Iterator[str]:
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
    provider: DockerProvider, engine: Engine, image: ImageId, key: str
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        sandbox.snapshot(key)
        sh(sandbox, "touch more")
        snapshot = sandbox.snapshot(key)
    await_nothing_new(engine, before)
    provider.discard(snapshot)
    await_nothing_new(engine, before)


def test_a_snapshot_that_fails_leaves_nothing(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        with pytest.raises(SandboxError):
            sandbox.snapshot("no key: it has spaces")
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


def test_a_snapshot_is_one_layer_with_the_differences(
    provider: DockerProvider, engine: Engine, image: ImageId, key: str
) -> None:
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "for n in 1 2 3 4 5; do head -c 4000000 /dev/urandom > $n; done").ok
        first = sandbox.snapshot(f"{key}-first")
    try:
        with provider.open(first, limits=LIMITS, network=False) as sandbox:
            assert sh(sandbox, "rm 1; echo 2 > 2; touch new").ok
            second = sandbox.snapshot(key)
        with engine.api("see the layers") as api:
            layers = api.history(second)
        assert layers[0]["Size"] < 100_000
        assert layers[1]["Size"] >= 20_000_000
    finally:
        provider.discard(first)


def test_a_snapshot_discarded_in_use_goes_on_and_is_left_while_its_maker_lives(
    provider: DockerProvider, engine: Engine, image: ImageId, key: str
) -> None:
    before = nameless(engine)
    with provider.open(image, limits=LIMITS, network=False) as sandbox:
        sh(sandbox, "echo text > file")
        snapshot = sandbox.snapshot(key)
    own = engine.image(snapshot).id
    with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
        provider.discard(snapshot)
        assert provider.find(key) is None
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


def test_settings_of_the_network_do_not_outlive_set_up(
    engine: Engine, image: ImageId, key: str
) -> None:
    provider = DockerProvider(engine, host_env={"PIP_INDEX_URL": "https://index.example/simple"})
    with provider.open(image, limits=LIMITS, network=True) as sandbox:
        assert sh(sandbox, "echo $PIP_INDEX_URL").stdout == "https://index.example/simple\n"
        snapshot = sandbox.snapshot(key)
    with provider.open(snapshot, limits=LIMITS, network=False) as sandbox:
        assert sh(sandbox, "echo $PIP_INDEX_URL$SSL_CERT_FILE").stdout == "\n"
