import os

from agentbench.cli.kept import Cache
from agentbench.in_use import Use


def test_an_empty_cache_keeps_nothing(tmp_path):
    assert Cache(folder=tmp_path / "none", engine=None).things() == []


def test_a_preparation_of_a_back_end_that_is_away_is_told_and_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    folder = tmp_path / "prepared" / "docker" / "abc"
    folder.mkdir(parents=True)
    cache = Cache.connect(tmp_path)
    (thing,) = cache.things()
    assert (thing.kind, thing.name, thing.in_use) == ("preparation", "docker/abc", False)
    assert not cache.give_up(thing)
    assert folder.exists()


def test_what_somebody_began_to_use_since_it_was_listed_stays(tmp_path):
    folder = tmp_path / "mirrors" / "url-x.git"
    folder.mkdir(parents=True)
    cache = Cache(folder=tmp_path, engine=None)
    (thing,) = cache.things()
    use = Use(folder)
    assert not cache.give_up(thing)
    assert cache.things()[0].in_use
    del use
    assert cache.give_up(thing)
    assert not folder.exists()


def test_the_last_use_is_what_the_files_say(tmp_path):
    folder = tmp_path / "toolboxes" / "agent-1"
    folder.mkdir(parents=True)
    os.utime(folder, (50, 50))
    (thing,) = Cache(folder=tmp_path, engine=None).things()
    assert (thing.kind, thing.name, thing.used_at) == ("toolbox", "agent-1", 50)
