from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.rooms import Rooms, furnished
from agentbench.sandbox.snapshot_store import Relocation, SnapshotStore


@pytest.fixture
def rooms(tmp_path: Path) -> Iterator[Rooms]:
    with furnished(tmp_path / "live", "", None) as rooms:
        (rooms.workspace / "file").write_text("first")
        yield rooms


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(folder=tmp_path / "store", prefix="x-snapshot", owner=None)


def states(store: SnapshotStore) -> int:
    return len(list((store.folder / "states").iterdir()))


def test_what_was_saved_is_found_and_opened(store: SnapshotStore, rooms: Rooms) -> None:
    assert store.find("key") is None
    snapshot = store.save("key", rooms)
    assert store.find("key") == snapshot
    assert store.holds(snapshot)
    with store.opened(snapshot) as state:
        assert (state.workspace / "file").read_text() == "first"
        assert state.saved_at == str(rooms.root)


def test_a_state_in_use_outlives_its_key_and_is_swept_later(
    store: SnapshotStore, rooms: Rooms
) -> None:
    snapshot = store.save("key", rooms)
    with store.opened(snapshot) as state:
        (rooms.workspace / "file").write_text("second")
        store.save("key", rooms)
        store.discard(snapshot)
        assert (state.workspace / "file").read_text() == "first"
    store.discard(snapshot)
    assert states(store) == 0


def test_a_replaced_state_is_removed(store: SnapshotStore, rooms: Rooms) -> None:
    store.save("key", rooms)
    store.save("key", rooms)
    assert states(store) == 1


def test_half_a_state_is_never_found(store: SnapshotStore, rooms: Rooms) -> None:
    snapshot = store.save("key", rooms)
    (state,) = (store.folder / "states").iterdir()
    (state / "saved-at").unlink()
    assert store.find("key") is None
    with pytest.raises(SandboxError, match="any more"), store.opened(snapshot):
        pass


def test_a_failed_save_leaves_the_key_as_it_was(store: SnapshotStore, rooms: Rooms) -> None:
    snapshot = store.save("key", rooms)
    with pytest.raises(FileNotFoundError):
        store.save("key", Rooms(root=rooms.root / "nowhere"))
    with store.opened(snapshot) as state:
        assert (state.workspace / "file").read_text() == "first"


def test_relocation_changes_text_only() -> None:
    moved = Relocation(old="/tmp/old", new="/tmp/new")
    assert moved(b"#!/tmp/old/venv/bin/python\n") == b"#!/tmp/new/venv/bin/python\n"
    assert moved(b"\0/tmp/old") == b"\0/tmp/old"
