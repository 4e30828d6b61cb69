import gc
import os
from uuid import uuid4

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.cli.cache_entries import CacheContents
from agentbench.core.file_locks import SharedLock
from agentbench.sandbox.docker.cleanup import stored_images
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]  # fixtures


def test_an_empty_cache_keeps_nothing(tmp_path):
    assert CacheContents(folder=tmp_path / "none", engine=None).entries() == []


def test_a_preparation_of_a_back_end_that_is_away_is_told_and_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    folder = tmp_path / "prepared" / "docker" / "abc"
    folder.mkdir(parents=True)
    cache = CacheContents.connect(tmp_path)
    (thing,) = cache.entries()
    assert (thing.kind, thing.name, thing.in_use) == ("preparation", "docker/abc", False)
    assert not cache.give_up(thing)
    assert folder.exists()


def test_what_somebody_began_to_use_since_it_was_listed_stays(tmp_path):
    folder = tmp_path / "mirrors" / "url-x.git"
    folder.mkdir(parents=True)
    cache = CacheContents(folder=tmp_path, engine=None)
    (thing,) = cache.entries()
    use = SharedLock(folder)
    assert not cache.give_up(thing)
    assert cache.entries()[0].in_use
    del use
    assert cache.give_up(thing)
    assert not folder.exists()


def test_the_last_use_is_what_the_files_say(tmp_path):
    folder = tmp_path / "toolboxes" / "agent-1"
    folder.mkdir(parents=True)
    os.utime(folder, (50, 50))
    (thing,) = CacheContents(folder=tmp_path, engine=None).entries()
    assert (thing.kind, thing.name, thing.used_at) == ("toolbox", "agent-1", 50)


@pytest.mark.docker
def test_a_preparation_in_an_engine_takes_what_its_snapshot_does_and_goes_with_it(
    provider, image, tmp_path
):
    key = f"test-kept-{uuid4().hex}"
    prepared = PreparationCache(tmp_path / "prepared", provider)
    with provider.open(image, limits=LIMITS, network=False) as box:
        sh(box, "head -c 2000000 /dev/urandom > file")
        prepared.keep(key, box)
    cache = CacheContents.connect(tmp_path)
    thing = next(each for each in cache.entries() if each.name == f"docker/{key}")
    assert thing.in_use, "whoever kept it may need it still"
    assert thing.elsewhere_bytes >= 2_000_000
    assert not cache.give_up(thing)
    del prepared
    gc.collect()
    assert cache.give_up(thing)
    assert provider.find(key) is None
    assert f"docker/{key}" not in {each.name for each in cache.entries()}


@pytest.mark.docker
def test_an_image_of_a_dockerfile_goes_after_the_snapshots_above_it(
    tmp_path, engine, provider, image
):
    dockerfile = tmp_path / "built" / "Dockerfile"
    dockerfile.parent.mkdir()
    dockerfile.write_text(f"FROM {image}\nRUN head -c 3000000 /dev/urandom > /tmp/{uuid4().hex}\n")
    built, key = provider.resolve_image(None, dockerfile=dockerfile), f"test-{uuid4().hex}"
    with provider.open(built, limits=LIMITS, network=False) as box:
        snapshot = box.snapshot(key)
    cache = CacheContents(folder=tmp_path / "cache", engine=engine)
    try:
        above = next(each for each in cache.entries() if each.name == f"docker/{key}")
        (name,) = {each.parent for each in stored_images(engine) if each.name == snapshot}
        below = next(each for each in cache.entries() if each.name == name)
        assert (below.kind, below.in_use) == ("task image", False)
        assert 3_000_000 <= below.elsewhere_bytes < 30_000_000
        assert above.elsewhere_bytes < 3_000_000
        assert below.used_at > above.used_at
        with provider.open(built, limits=LIMITS, network=False):
            assert next(each for each in cache.entries() if each.name == name).in_use
    finally:
        provider.discard(snapshot)
    assert cache.give_up(below)
    assert name not in {each.name for each in cache.entries()}
