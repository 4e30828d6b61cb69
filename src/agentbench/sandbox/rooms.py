"""The private folder of one sandbox on this machine, and who owns it while it lives."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentbench.owned_folder import is_owned, owned
from agentbench.sandbox.trees import Owner, remove_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """The folders that a sandbox may write to, all below one that only we can enter."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The task's repository."""
        return self.root / "workspace"

    @property
    def results(self) -> Path:
        """What reporters write."""
        return self.root / "results"

    @property
    def home(self) -> Path:
        """The home of the sandbox's user."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """Its /tmp; on disk, so that it lasts from one command to the next."""
        return self.root / "tmp"

    @property
    def venv(self) -> Path:
        """Its virtual environment, or what an overlay keeps of the changes to one."""
        return self.root / "venv"

    @property
    def work(self) -> Path:
        """What an overlay needs beside its upper folder."""
        return self.root / "work"

    @property
    def all(self) -> tuple[Path, ...]:
        """Every room."""
        return (self.workspace, self.results, self.home, self.tmp, self.venv, self.work)


@contextmanager
def furnished(parent: Path, prefix: str, owner: Owner | None) -> Iterator[Rooms]:
    """Fresh rooms, removed at the end; until then a lock says that somebody lives here.

    Raises:
        OSError: the disk is full, or `parent` cannot be written.
    """
    parent.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    rooms = Rooms(root=root)
    try:
        root.chmod(0o711)  # the sandbox's user walks through, and sees no name
        with owned(root):
            try:
                for room in rooms.all:
                    room.mkdir(mode=0o700)
                    if owner is not None:
                        os.chown(room, owner.uid, owner.gid)
                yield rooms
            finally:  # a kill in between leaves rooms whose owner can be told to be dead
                for room in rooms.all:
                    remove_tree(room)
    finally:
        remove_tree(root)


def is_lived_in(root: Path) -> bool:
    """Whether the process that made these rooms still holds its lock on them."""
    return is_owned(root)
