"""Stored sandbox states on disk: a workspace and a virtual environment under a key.

A key is a small file that names the folder of its state. So a key gets another state by one rename,
and a state that sandboxes still use outlives its key. Every user of a state holds a lock on it;
states without a key and without a lock are removed. A state has a checksum of its trees; a state
that was damaged on disk is discarded when a process first looks for it.
"""

import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentbench.core.checksums import ChecksummedDocument, is_undamaged, tree_checksum
from agentbench.core.files import write_atomically
from agentbench.errors import SandboxError
from agentbench.sandbox.back_ends import BACK_ENDS
from agentbench.sandbox.interface import SnapshotId
from agentbench.sandbox.trees import FileOwner, copy_tree, remove_tree

_STATE = "state.json"
_LOCK = "in-use"  # locked by all who create or use the state
_UNFINISHED_SECONDS = 10  # for this long, a new state may lack its lock; usually 0.1 ms
_LOG = logging.getLogger("agentbench.cache")


class StateManifest(ChecksummedDocument):
    """The file next to the trees of a state."""

    saved_at: str  # the root of the saved folders
    trees: str  # the checksum of the state's folder without its own files


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """An undamaged stored state."""

    workspace: Path
    venv: Path
    saved_at: str  # the root of the folders at that time


class DamagedStateError(SandboxError):
    """A state was changed after it was saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStore:
    """The states of one back end, by key."""

    folder: Path
    prefix: str  # of ids, such as "bubblewrap-snapshot"
    owner: FileOwner | None

    def id_of(self, key: str) -> SnapshotId:
        """The id of a key's snapshot, for `open`."""
        return SnapshotId(f"{self.prefix}:{key}")

    def find(self, key: str) -> SnapshotId | None:
        """The snapshot under a key, if it exists; a damaged one is discarded."""
        snapshot = self.id_of(key)
        try:
            with self.opened(snapshot), suppress(OSError):
                # `clean` removes the least recently used ones first.
                os.utime(self._keys / key)
        except DamagedStateError as fault:
            _LOG.warning("%s; it is created again", fault)
            self.discard(snapshot)
            return None
        except SandboxError:
            return None
        return snapshot

    def holds(self, source: str) -> bool:
        """Whether an id belongs to this store, existing or not."""
        return source.startswith(f"{self.prefix}:")

    def save(self, key: str, root: Path, *, lower: Path | None = None) -> SnapshotId:
        """Store the workspace and the environment; an existing snapshot of the key is replaced.

        Args:
            key: The name to find it by.
            root: The folder of `workspace` and `venv`.
            lower: The lower environment, if `venv` is the upper folder of an overlay.

        Raises:
            OSError: the disk is full.
        """
        for parent in (self._keys, self._states):
            parent.mkdir(parents=True, exist_ok=True)
            parent.chmod(0o711)
        state = Path(tempfile.mkdtemp(dir=self._states))
        new_lock = state / f"{_LOCK}.new"
        with new_lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            # Renamed only now, so that it is locked before others can see it.
            new_lock.rename(state / _LOCK)
            state.chmod(0o711)
            for name, below in (("workspace", None), ("venv", lower)):
                (state / name).mkdir()
                copy_tree(root / name, state / name, owner=self.owner, lower=below)
            checksum = tree_checksum(state, without={_STATE, _LOCK})
            facts = StateManifest(saved_at=str(root), trees=checksum)
            write_atomically(state / _STATE, facts.json_with_checksum().encode())
            write_atomically(self._keys / key, state.name.encode())
        self.sweep()
        return self.id_of(key)

    @contextmanager
    def opened(self, snapshot: str) -> Iterator[StoredState]:
        """Keep a state during the block, even if its key is removed or replaced.

        Raises:
            DamagedStateError: the state was changed after it was saved.
            SandboxError: the snapshot does not exist.
        """
        folder = self.folder_of(snapshot.partition(":")[2])
        if folder is None:
            raise SandboxError(f"the snapshot {snapshot} no longer exists")
        with ExitStack() as stack:
            try:
                lock = stack.enter_context((folder / _LOCK).open())
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as fault:
                raise SandboxError(f"the snapshot {snapshot} no longer exists") from fault
            try:
                facts = StateManifest.model_validate_json((folder / _STATE).read_bytes())
            except (OSError, ValidationError) as fault:
                raise DamagedStateError(f"the snapshot {snapshot} has no valid {_STATE}") from fault
            if not is_undamaged(folder, facts.trees, without={_STATE, _LOCK}):
                raise DamagedStateError(f"the snapshot {snapshot} was changed on disk, in {folder}")
            yield StoredState(
                workspace=folder / "workspace", venv=folder / "venv", saved_at=facts.saved_at
            )

    def discard(self, snapshot: str) -> None:
        """Remove a snapshot; a missing one is no error."""
        (self._keys / snapshot.partition(":")[2]).unlink(missing_ok=True)
        self.sweep()

    def known_keys(self) -> list[str]:
        """Every key that names a state."""
        if not self._keys.is_dir():
            return []
        return sorted(path.name for path in self._keys.iterdir() if self._state_of(path))

    def folder_of(self, key: str) -> Path | None:
        """The folder of the state under a key."""
        return self._state_of(self._keys / key)

    def is_in_use(self, key: str) -> bool:
        """Whether a sandbox uses the state under a key now."""
        folder = self.folder_of(key)
        try:
            with ((folder or self.folder) / _LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def used_at(self, key: str) -> float:
        """The time when the state under a key was last found, in seconds of the epoch."""
        return (self._keys / key).stat().st_mtime

    def sweep(self) -> int:
        """Remove the states without a key and without a lock; returns their number."""
        if not self._states.is_dir():
            return 0
        states = set(self._states.iterdir())
        unnamed = states - {self._state_of(pointer) for pointer in self._keys.iterdir()}
        removed = 0
        for state in unnamed:
            try:
                with (state / _LOCK).open() as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(state)
                    removed += 1
            except FileNotFoundError:
                # Its creator was killed, or has not locked it yet.
                with suppress(OSError):
                    if time.time() - state.stat().st_mtime > _UNFINISHED_SECONDS:
                        remove_tree(state)
                        removed += 1
            except OSError:
                pass  # it is in use, or belongs to another user
        return removed

    @property
    def _keys(self) -> Path:
        return self.folder / "keys"

    @property
    def _states(self) -> Path:
        return self.folder / "states"

    def _state_of(self, pointer: Path) -> Path | None:
        try:
            state = self._states / pointer.read_bytes().decode("ascii")
            exists = state.parent == self._states and stat.S_ISREG((state / _LOCK).stat().st_mode)
        except (OSError, ValueError):
            # A damaged key counts as missing: the state is created again.
            return None
        return state if exists else None


def sweep_all(cache_dir: Path) -> int:
    """Sweep the stores of every back end that stores states on this machine."""
    stores = (
        SnapshotStore(folder=cache_dir / back_end.name / nouns, prefix="", owner=None)
        for back_end in BACK_ENDS
        if back_end.keeps_files
        for nouns in ("images", "snapshots")
    )
    return sum(store.sweep() for store in stores)
