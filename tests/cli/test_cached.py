import pytest

from agentbench.cli.cached import CachedState, cached_states, forget
from agentbench.file_lock import FileLock
from agentbench.sandbox.choose import choose_provider
from agentbench.stages.preparation import PreparationCache
from tests.scoring.strategies import Evidence, stage


@pytest.fixture
def cache_dir(tmp_path):
    """A cache of plain processes with two preparations, whatever their snapshots."""
    provider = choose_provider("process", cache_dir=tmp_path).provider
    cache = PreparationCache(tmp_path / "prepared", provider)
    for key in ("a", "b"):
        (tmp_path / "prepared" / "process" / key).mkdir()
        (tmp_path / "prepared" / "process" / key / "base.tar").touch()
        cache.keep_results(key, [stage("setup", Evidence())])
    return tmp_path


def keys(cache_dir) -> list[str]:
    return [state.key for state in cached_states(cache_dir)]


def test_every_preparation_is_told_with_its_size(cache_dir):
    first, second = cached_states(cache_dir)
    size = (cache_dir / "prepared/process/a/stages.json").stat().st_size
    assert first == CachedState(provider="process", key="a", size_bytes=size)
    assert second.key == "b"


def test_a_cache_that_nobody_used_is_empty(tmp_path):
    assert cached_states(tmp_path) == []


def test_what_is_given_up_is_gone(cache_dir):
    forget(cached_states(cache_dir), cache_dir)
    assert keys(cache_dir) == []


def test_what_somebody_is_making_stays(cache_dir):
    with FileLock(cache_dir / "prepared" / "process" / "a.lock"):
        forget(cached_states(cache_dir), cache_dir)
    assert keys(cache_dir) == ["a"]


def test_what_is_out_of_reach_stays(cache_dir, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{cache_dir}/no.sock")
    (cache_dir / "prepared" / "docker" / "c").mkdir(parents=True)
    forget(cached_states(cache_dir), cache_dir)
    assert keys(cache_dir) == ["c"]
