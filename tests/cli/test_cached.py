import pytest

from agentbench.attempt.base_tree import base_tree_digest, store_base_tree
from agentbench.attempt.preparation_cache import PreparationCache, StoredPreparation
from agentbench.cli.cache_entries import CacheContents
from agentbench.core.file_locks import FileLock
from agentbench.sandbox.registry import select_back_end
from tests.integrity.tars import tar_of
from tests.scoring.strategies import Evidence, stage


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


def test_every_preparation_is_told(cache_dir):
    assert keys(cache_dir) == ["a", "b"]


def test_a_cache_that_nobody_used_is_empty(tmp_path):
    assert keys(tmp_path) == []


def test_what_is_given_up_is_gone(cache_dir):
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
