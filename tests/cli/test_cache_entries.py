import gc
import os
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.attempt.base_tree import base_tree_digest, store_base_tree
from agentbench.attempt.preparation_cache import PreparationCache, StoredPreparation
from agentbench.cli.cache_entries import (
    CacheContents,
    CacheEntry,
    allocated_bytes_below,
    find_all_orphans,
    plan_eviction,
    remove_dead_orphans,
)
from agentbench.core.file_locks import FileLock, SharedLock
from agentbench.sandbox.cleanup import Orphan
from agentbench.sandbox.docker.cleanup import stored_images
from agentbench.sandbox.registry import select_back_end
from tests.integrity.tars import tar_of
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, provider
from tests.scoring.strategies import Evidence, stage

__all__ = ["engine", "image", "provider"]  # fixtures


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


def test_a_file_with_two_names_is_counted_once(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 100_000)
    os.link(tmp_path / "a" / "file", tmp_path / "b")
    (tmp_path / "soft").symlink_to("a/file")
    found = allocated_bytes_below([tmp_path])
    assert len(found) == 4  # two folders, a file, a link
    assert (
        sum(found.values())
        == sum(path.lstat().st_blocks * 512 for path in (tmp_path, tmp_path / "a", tmp_path / "b"))
        + (tmp_path / "soft").lstat().st_blocks * 512
    )


def test_holes_take_nothing(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**9)
    assert sum(allocated_bytes_below([tmp_path / "sparse", tmp_path]).values()) < 10**6


def test_a_file_by_itself_and_what_is_gone(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 5000)
    assert len(allocated_bytes_below([tmp_path / "file", tmp_path / "none"])) == 1


@pytest.fixture
def cache_dir(tmp_path):
    """A cache of plain processes with two preparations, whatever their snapshots."""
    provider = select_back_end("process", cache_dir=tmp_path).provider
    cache = PreparationCache(tmp_path / "prepared", provider)
    for key in ("a", "b"):
        folder = cache.folder / key
        folder.mkdir()
        store_base_tree([tar_of()], folder)
        entry = StoredPreparation(
            results=(stage("setup", Evidence()),), base_tree=base_tree_digest(folder)
        )
        (folder / "stages.json").write_text(entry.json_with_checksum())
    return tmp_path


def keys(cache_dir) -> list[str]:
    cache = CacheContents(folder=cache_dir, engine=None)
    return [folder.name for folder in cache.prepared_folders()]


def remove_all(cache_dir) -> None:
    cache = CacheContents(folder=cache_dir, engine=None)
    for folder in cache.prepared_folders():
        cache.forget_preparation(f"{folder.parent.name}/{folder.name}")


def test_a_cache_that_nobody_used_is_empty(tmp_path):
    assert keys(tmp_path) == []


def test_what_is_given_up_is_gone(cache_dir):
    assert keys(cache_dir) == ["a", "b"]
    remove_all(cache_dir)
    assert keys(cache_dir) == []


def test_what_somebody_is_making_stays(cache_dir):
    with FileLock(cache_dir / "prepared" / "process" / "a.lock"):
        remove_all(cache_dir)
    assert keys(cache_dir) == ["a"]


def test_what_is_out_of_reach_stays(cache_dir, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{cache_dir}/no.sock")
    (cache_dir / "prepared" / "docker" / "c").mkdir(parents=True)
    remove_all(cache_dir)
    assert keys(cache_dir) == ["c"]


MIB = 2**20


@pytest.fixture
def thing(tmp_path: Path):
    """Makes a thing of some whole MiB of its own, and of files it shares with others."""

    def made(name: str, mib: int, *, used_at: float, in_use: bool = False, shares: str = ""):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own").write_bytes(os.urandom(mib * MIB))
        if shares:
            os.link(tmp_path / shares / "own", folder / "shared")
        return CacheEntry(
            kind="mirror", name=name, used_at=used_at, in_use=in_use, folders=(folder,)
        )

    return made


def goes(fates) -> list[str]:
    return [fate.entry.name for fate in fates if fate.goes]


def test_the_least_recently_used_go_until_the_rest_fits(thing):
    things = [thing(name, 2, used_at=at) for name, at in (("b", 2), ("a", 1), ("c", 3))]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=None)) == ["a", "b"]
    assert goes(plan_eviction(things, keep_bytes=7 * MIB, unused_since=None)) == []
    assert goes(plan_eviction(things, keep_bytes=0, unused_since=None)) == ["a", "b", "c"]
    fates = plan_eviction(things, keep_bytes=None, unused_since=None)
    assert [fate.entry.name for fate in fates] == ["a", "b", "c"]
    assert goes(fates) == []


def test_what_is_in_use_stays_and_the_next_one_goes(thing):
    things = [thing("a", 2, used_at=1, in_use=True), thing("b", 2, used_at=2)]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=9)) == ["b"]


def test_age_alone_and_age_with_size(thing):
    things = [thing(name, 2, used_at=at) for at, name in enumerate("abc")]
    assert goes(plan_eviction(things, keep_bytes=None, unused_since=1)) == ["a"]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=1)) == ["a", "b"]


def test_a_file_that_two_share_is_free_when_both_are_gone(thing):
    base = thing("base", 4, used_at=1)
    top = thing("top", 1, used_at=2, shares="base")
    first, second = plan_eviction([base, top], keep_bytes=0, unused_since=None)
    assert first.size_bytes < MIB
    assert 5 * MIB <= second.size_bytes < 6 * MIB
    kept = plan_eviction([base, top], keep_bytes=6 * MIB, unused_since=None)
    assert goes(kept) == [], "together they take five"


def test_what_lies_in_an_engine_counts_too():
    things = [
        CacheEntry(kind="preparation", name=name, used_at=at, in_use=False, elsewhere_bytes=10)
        for at, name in enumerate("abc")
    ]
    assert goes(plan_eviction(things, keep_bytes=15, unused_since=None)) == ["a", "b"]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.booleans()), max_size=8),
    st.integers(0, 300),
)
def test_what_is_left_fits_or_is_in_use_and_nothing_goes_in_vain(rows, keep):
    things = [
        CacheEntry(kind="x", name=str(n), used_at=at, in_use=used, elsewhere_bytes=size)
        for n, (at, size, used) in enumerate(rows)
    ]
    fates = plan_eviction(things, keep_bytes=keep, unused_since=None)
    left = [fate for fate in fates if not fate.goes]
    rest = sum(fate.size_bytes for fate in left)
    assert rest <= keep or all(fate.entry.in_use for fate in left)
    gone = [fate for fate in fates if fate.goes]
    if gone:
        assert rest + gone[-1].size_bytes > keep, "the last one had to go"


def test_without_an_engine_the_folders_of_this_machine_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    rooms = tmp_path / "bubblewrap" / "live" / "agentbench-x"
    rooms.mkdir(parents=True)
    (rooms / "owner").touch()
    (found,) = (each for each in find_all_orphans(tmp_path) if str(tmp_path) in each.id)
    assert (found.kind, found.id, found.owner_alive) == ("folder", str(rooms), False)


def test_only_what_nobody_owns_is_removed(tmp_path):
    folders = {name: tmp_path / name for name in ("dead", "alive")}
    for folder in folders.values():
        folder.mkdir()
    dead, alive = (
        Orphan(kind="folder", id=str(folder), owner_alive=name == "alive")
        for name, folder in folders.items()
    )
    remove_dead_orphans([dead, alive])
    assert not folders["dead"].exists()
    assert folders["alive"].exists()


def test_what_is_in_an_engine_that_is_away_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    container = Orphan(kind="container", id="0" * 12)
    remove_dead_orphans([container])  # and says nothing
