"""Remembered states on disk: a workspace and a virtual environment, whole or absent.

A key is a small file that names the folder of its state, so a key changes hands in one rename,
and a state that sandboxes still stand on outlives its key. Whoever uses a state holds a lock on
it; states that no key names and nobody holds are swept away.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.rooms import Rooms
from agentbench.sandbox.trees import Owner, copy_tree, remove_tree

_SAVED_AT = "saved-at"  # the file that is locked; holds the path of the rooms that were saved


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One remembered state, whole."""

    folder: Path
    saved_at: str  # the rooms' own path then

    @property
    def workspace(self) -> Path:
        """The copied workspace."""
        return self.folder / "workspace"

    @property
    def venv(self) -> Path:
        """The copied environment."""
        return self.folder / "venv"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStore:
    """The states of one back end, by key."""

    folder: Path
    prefix: str  # of ids: "bubblewrap-snapshot"
    owner: Owner | None

    def id_of(self, key: str) -> SnapshotId:
        """What `open` is to be handed for a key."""
        return SnapshotId(f"{self.prefix}:{key}")

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot under a key, if there is one."""
        state = self._named_by(self._keys / key)
        return None if state is None else self.id_of(key)

    def holds(self, source: str) -> bool:
        """Whether an id is one of ours (there or not)."""
        return source.startswith(f"{self.prefix}:")

    def save(self, key: str, rooms: Rooms, *, below: Path | None = None) -> SnapshotId:
        """Remember the workspace and the environment; a snapshot of that key is replaced.

        Args:
            key: The name to find it by.
            rooms: What to remember.
            below: The environment that the rooms' own is an overlay on, if it is one.

        Raises:
            OSError: the disk is full.
        """
        for folder in (self._keys, self._states):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o711)
        state = Path(tempfile.mkdtemp(dir=self._states))
        with (state / _SAVED_AT).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            state.chmod(0o711)
            for room, lower in ((rooms.workspace, None), (rooms.venv, below)):
                (state / room.name).mkdir()
                copy_tree(room, state / room.name, owner=self.owner, below=lower)
            held.write(str(rooms.root))
            held.flush()
            self._point(key, state.name)
        self._sweep()
        return self.id_of(key)

    @contextmanager
    def opened(self, snapshot: str) -> Iterator[State]:
        """A state that stays whole while the block lasts, whatever becomes of its key.

        Raises:
            SandboxError: the snapshot is gone.
        """
        folder = self._named_by(self._keys / snapshot.partition(":")[2])
        with contextlib.ExitStack() as keep:
            try:
                held = keep.enter_context(((folder or Path()) / _SAVED_AT).open())
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
                saved_at = held.read()
            except OSError as fault:
                raise SandboxError(f"there is no {snapshot} any more") from fault
            yield State(folder=folder or Path(), saved_at=saved_at)

    def discard(self, snapshot: str) -> None:
        """Forget a snapshot; one that is gone is no fault."""
        (self._keys / snapshot.partition(":")[2]).unlink(missing_ok=True)
        self._sweep()

    @property
    def _keys(self) -> Path:
        return self.folder / "keys"

    @property
    def _states(self) -> Path:
        return self.folder / "states"

    def _point(self, key: str, state: str) -> None:
        descriptor, fresh = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(descriptor, "w") as pointer:
            pointer.write(state)
        Path(fresh).rename(self._keys / key)

    def _named_by(self, pointer: Path) -> Path | None:
        try:
            state = self._states / pointer.read_text()
        except OSError:
            return None
        return state if (state / _SAVED_AT).is_file() else None

    def _sweep(self) -> None:
        """Remove the states that no key names and nobody holds."""
        if not self._states.is_dir():
            return
        states = set(self._states.iterdir())
        for state in states - {self._named_by(pointer) for pointer in self._keys.iterdir()}:
            with contextlib.suppress(OSError), (state / _SAVED_AT).open() as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(state)


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
