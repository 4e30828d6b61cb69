from agentbench.cli.cache_entries import find_all_orphans, remove_dead_orphans
from agentbench.sandbox.cleanup import Orphan


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
