import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.folder_sandbox import SandboxFolders, sandbox_folders
from agentbench.sandbox.snapshot_store import SnapshotStore


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[SandboxFolders]:
    with sandbox_folders(tmp_path / "live", "", None) as folders:
        (folders.workspace / "file").write_text("first")
        yield folders


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(folder=tmp_path / "store", prefix="x-snapshot", owner=None)


def states(store: SnapshotStore) -> int:
    return len(list((store.folder / "states").iterdir()))


def test_saved_state_is_found_and_opened(store: SnapshotStore, folders: SandboxFolders) -> None:
    assert store.find("key") is None
    snapshot = store.save("key", folders.root)
    assert store.find("key") == snapshot
    assert store.holds(snapshot)
    with store.opened(snapshot) as state:
        assert (state.workspace / "file").read_text() == "first"
        assert state.saved_at == str(folders.root)


def test_a_state_in_use_outlives_its_key_and_is_swept_later(
    store: SnapshotStore, folders: SandboxFolders
) -> None:
    snapshot = store.save("key", folders.root)
    with store.opened(snapshot) as state:
        (folders.workspace / "file").write_text("second")
        store.save("key", folders.root)
        store.discard(snapshot)
        assert (state.workspace / "file").read_text() == "first"
    store.discard(snapshot)
    assert states(store) == 0


def test_a_replaced_state_is_removed(store: SnapshotStore, folders: SandboxFolders) -> None:
    store.save("key", folders.root)
    store.save("key", folders.root)
    assert states(store) == 1


def test_incomplete_state_is_not_found(store: SnapshotStore, folders: SandboxFolders) -> None:
    snapshot = store.save("key", folders.root)
    (state,) = (store.folder / "states").iterdir()
    (state / "in-use").unlink()
    assert store.find("key") is None
    with pytest.raises(SandboxError, match="no longer exists"), store.opened(snapshot):
        pass


def test_a_failed_save_leaves_the_key_as_it_was(
    store: SnapshotStore, folders: SandboxFolders
) -> None:
    snapshot = store.save("key", folders.root)
    with pytest.raises(FileNotFoundError):
        store.save("key", folders.root / "nowhere")
    with store.opened(snapshot) as state:
        assert (state.workspace / "file").read_text() == "first"


DAMAGE = {
    "a bit of a file": lambda state: flip(state / "workspace" / "file"),
    "a cut": lambda state: os.truncate(state / "workspace" / "file", 2),
    "a mode": lambda state: (state / "workspace" / "file").chmod(0o600),
    "the facts": lambda state: flip(state / "state.json"),
    "no facts": lambda state: (state / "state.json").unlink(),
    "empty facts": lambda state: os.truncate(state / "state.json", 0),
    "one more file": lambda state: (state / "venv" / "sitecustomize.py").touch(),
}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_state_is_discarded_with_a_warning(
    store: SnapshotStore, folders: SandboxFolders, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    (folders.workspace / "file").chmod(0o644)
    snapshot = store.save("key", folders.root)
    (state,) = (store.folder / "states").iterdir()
    DAMAGE[damage](state)
    with pytest.raises(SandboxError, match="x-snapshot:key"), store.opened(snapshot):
        pass
    assert store.find("key") is None
    assert "x-snapshot:key" in caplog.text
    assert "it is created again" in caplog.text
    assert not state.exists()
    assert store.save("key", folders.root) == store.find("key")


@pytest.mark.parametrize(
    "content", [b"", b".", b"..", b"../keys", b"/etc", b"\xff\xfe", b"a\0b", b"none", b"x" * 300]
)
def test_damaged_key_is_ignored(
    store: SnapshotStore, folders: SandboxFolders, content: bytes
) -> None:
    store.save("key", folders.root)
    (store.folder / "keys" / "key").write_bytes(content)
    assert store.find("key") is None
    assert store.known_keys() == []
    assert store.save("key", folders.root) == store.find("key")
    assert states(store) == 1


def test_abandoned_state_is_swept_after_a_grace_period(
    store: SnapshotStore, folders: SandboxFolders
) -> None:
    store.save("key", folders.root)
    fresh, old = (store.folder / "states" / name for name in ("fresh", "old"))
    for half in (fresh, old):
        (half / "workspace").mkdir(parents=True)
    os.utime(old, (1, 1))
    assert store.sweep() == 1
    assert not old.exists()
    assert fresh.exists()
    assert store.known_keys() == ["key"]
