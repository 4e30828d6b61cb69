"""Stored sandbox states on disk.

A workspace and a virtual environment under a key, whole or absent.

A key is a small file that names the folder of its state, so a key changes hands in one rename, and
a state that sandboxes still stand on outlives its key. Whoever uses a state holds a lock on it;
states that no key names and nobody holds are swept away. A state bears a digest of its trees: one
that was damaged on disk is given up when a process first looks for it.
"""

import contextlib
import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentbench.core.checksums import ChecksummedDocument, is_undamaged, tree_checksum
from agentbench.core.files import write_atomically
from agentbench.errors import SandboxError
from agentbench.sandbox.folder_sandbox import SandboxFolders
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.trees import FileOwner, copy_tree, remove_tree

_STATE = "state.json"
_LOCK = "in-use"  # the file that is locked by all who make or use the state
_UNFINISHED_SECONDS = 10  # that a new state may be without its lock; some 0.1 ms are seen
_LOG = logging.getLogger("agentbench.cache")


class StateManifest(ChecksummedDocument):
    """What is written beside the trees of a state."""

    saved_at: str  # the path of the rooms that were saved
    trees: str  # the digest of all below the state's folder but its own files


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
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


class DamagedStateError(SandboxError):
    """A state is not what was saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStore:
    """The states of one back end, by key."""

    folder: Path
    prefix: str  # of ids: "bubblewrap-snapshot"
    owner: FileOwner | None

    def id_of(self, key: str) -> SnapshotId:
        """What `open` is to be handed for a key."""
        return SnapshotId(f"{self.prefix}:{key}")

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot under a key, if there is one and it is whole; a damaged one is forgotten."""
        snapshot = self.id_of(key)
        try:
            with self.opened(snapshot):
                with contextlib.suppress(OSError):
                    os.utime(self._keys / key)  # by which the least recently used is told
                return snapshot
        except DamagedStateError as fault:
            _LOG.warning("%s; it is made again", fault)
            self.discard(snapshot)
            return None
        except SandboxError:
            return None

    def holds(self, source: str) -> bool:
        """Whether an id is one of ours (there or not)."""
        return source.startswith(f"{self.prefix}:")

    def save(self, key: str, rooms: SandboxFolders, *, below: Path | None = None) -> SnapshotId:
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
        with self._held(state):
            state.chmod(0o711)
            for room, lower in ((rooms.workspace, None), (rooms.venv, below)):
                (state / room.name).mkdir()
                copy_tree(room, state / room.name, owner=self.owner, below=lower)
            facts = StateManifest(saved_at=str(rooms.root), trees=_seal(state))
            write_atomically(state / _STATE, facts.json_with_checksum().encode())
            write_atomically(self._keys / key, state.name.encode())
        self.sweep()
        return self.id_of(key)

    @contextmanager
    def opened(self, snapshot: str) -> Iterator[StoredState]:
        """A state that stays whole while the block lasts, whatever becomes of its key.

        Raises:
            DamagedStateError: it is not what was saved.
            SandboxError: the snapshot is gone.
        """
        folder = self.folder_of(snapshot.partition(":")[2])
        if folder is None:
            raise SandboxError(f"there is no {snapshot} any more")
        with contextlib.ExitStack() as keep:
            try:
                held = keep.enter_context((folder / _LOCK).open())
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as fault:
                raise SandboxError(f"there is no {snapshot} any more") from fault
            yield _checked(folder, snapshot)

    def discard(self, snapshot: str) -> None:
        """Forget a snapshot; one that is gone is no fault."""
        (self._keys / snapshot.partition(":")[2]).unlink(missing_ok=True)
        self.sweep()

    def known_keys(self) -> list[str]:
        """Every key that names a state."""
        if not self._keys.is_dir():
            return []
        return sorted(path.name for path in self._keys.iterdir() if self._named_by(path))

    def folder_of(self, key: str) -> Path | None:
        """Where the state under a key lies."""
        return self._named_by(self._keys / key)

    def is_held(self, key: str) -> bool:
        """Whether a sandbox stands on the state under a key now."""
        folder = self.folder_of(key)
        try:
            with ((folder or self.folder) / _LOCK).open() as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def used_at(self, key: str) -> float:
        """When the state under a key was last looked for, in seconds of the epoch."""
        return (self._keys / key).stat().st_mtime

    def sweep(self) -> int:
        """Remove the states that no key names and nobody holds; returns how many are gone."""
        if not self._states.is_dir():
            return 0
        states = set(self._states.iterdir())
        unnamed = states - {self._named_by(pointer) for pointer in self._keys.iterdir()}
        return sum(map(_removed, unnamed))

    @property
    def _keys(self) -> Path:
        return self.folder / "keys"

    @property
    def _states(self) -> Path:
        return self.folder / "states"

    @contextmanager
    def _held(self, state: Path) -> Iterator[None]:
        """Hold a new state, from when others can see that it may be held."""
        fresh = state / f"{_LOCK}.new"
        with fresh.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            fresh.rename(state / _LOCK)
            yield

    def _named_by(self, pointer: Path) -> Path | None:
        try:
            state = self._states / pointer.read_bytes().decode("ascii")
            there = state.parent == self._states and stat.S_ISREG((state / _LOCK).stat().st_mode)
        except (OSError, ValueError):  # a damaged key
            return None
        return state if there else None


def sweep_all(cache_dir: Path) -> int:
    """Sweep the stores of every back end that keeps states on this machine."""
    stores = (
        SnapshotStore(folder=cache_dir / back_end / nouns, prefix="", owner=None)
        for back_end in ("bubblewrap", "process")
        for nouns in ("images", "snapshots")
    )
    return sum(store.sweep() for store in stores)


def _checked(folder: Path, snapshot: str) -> StoredState:
    try:
        facts = StateManifest.model_validate_json((folder / _STATE).read_bytes())
    except (OSError, ValidationError) as fault:
        raise DamagedStateError(f"{snapshot} has no whole {_STATE}") from fault
    if not is_undamaged(folder, facts.trees, without={_STATE, _LOCK}):
        raise DamagedStateError(f"{snapshot} was changed on disk, below {folder}")
    return StoredState(folder=folder, saved_at=facts.saved_at)


def _seal(folder: Path) -> str:
    return tree_checksum(folder, without={_STATE, _LOCK})


def _removed(state: Path) -> bool:
    """Remove a state unless somebody holds it."""
    try:
        with (state / _LOCK).open() as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(state)
            return True
    except FileNotFoundError:  # its maker was killed, or is about to lock it
        with contextlib.suppress(OSError):
            if time.time() - state.stat().st_mtime > _UNFINISHED_SECONDS:
                remove_tree(state)
                return True
    except OSError:
        pass
    return False
