"""Remembered states on disk: a workspace and a virtual environment, whole or absent."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.rooms import Rooms
from agentbench.sandbox.trees import Owner, copy_tree, remove_tree

_UNFINISHED = ".unfinished-"
_SAVED_AT = "saved-at"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStore:
    """The snapshots of one back end, each a folder that is put in place by one rename."""

    folder: Path
    prefix: str  # of ids: "bubblewrap-snapshot"
    owner: Owner | None

    def id_of(self, key: str) -> SnapshotId:
        """What `open` is to be handed for a key."""
        return SnapshotId(f"{self.prefix}:{key}")

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot under a key, if there is one."""
        return self.id_of(key) if (self.folder / key / _SAVED_AT).is_file() else None

    def holds(self, source: str) -> bool:
        """Whether an id is one of ours (there or not)."""
        return source.startswith(f"{self.prefix}:")

    def save(self, key: str, rooms: Rooms) -> SnapshotId:
        """Copy the workspace and the environment; a snapshot of that key is replaced.

        Raises:
            OSError: the disk is full.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.folder))
        try:
            for room in (rooms.workspace, rooms.venv):
                (fresh / room.name).mkdir()
                copy_tree(room, fresh / room.name, owner=self.owner)
            (fresh / _SAVED_AT).write_text(str(rooms.root))
            self._remove(key)
            fresh.rename(self.folder / key)
        except BaseException:
            remove_tree(fresh)
            raise
        return self.id_of(key)

    def restore(self, snapshot: str, rooms: Rooms, *, relocate: bool) -> None:
        """Fill empty rooms with a snapshot.

        Args:
            snapshot: What `save` or `find` returned.
            rooms: Where to.
            relocate: Whether commands see the rooms under their own path, which therefore has
                to be rewritten in scripts, path files and links.

        Raises:
            SandboxError: the snapshot is gone.
            OSError: the disk is full.
        """
        saved = self.folder / _key_of(snapshot)
        try:
            old = (saved / _SAVED_AT).read_text()
        except OSError as fault:
            raise SandboxError(f"there is no {snapshot} any more") from fault
        change = Relocation(old=old, new=str(rooms.root)) if relocate else None
        for room in (rooms.workspace, rooms.venv):
            copy_tree(saved / room.name, room, owner=self.owner, change=change)

    def discard(self, snapshot: str) -> None:
        """Remove a snapshot; one that is gone is no fault."""
        self._remove(_key_of(snapshot))

    def _remove(self, key: str) -> None:
        """Take it out of sight by one rename first, so that no half of it is ever found."""
        if not (self.folder / key).exists():
            return
        going = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.folder))
        try:
            (self.folder / key).rename(going / key)
        except FileNotFoundError:
            pass
        finally:
            remove_tree(going)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Rewrites a path in text, as `copy_tree` wants it; anything with a NUL byte stays."""

    old: str
    new: str

    def __call__(self, content: bytes) -> bytes:
        """The content with every mention of the old path made the new one."""
        old = self.old.encode()
        if old not in content or b"\0" in content:
            return content
        return content.replace(old, self.new.encode())


def _key_of(snapshot: str) -> str:
    return snapshot.partition(":")[2]
