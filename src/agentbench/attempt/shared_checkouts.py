"""Checkouts that tasks of one repository and environment start from, instead of an empty folder.

A task's snapshot then holds only the files in which its commit differs, and not all files again.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.files import write_atomically
from agentbench.sandbox.interface import Sandbox, SnapshotId
from agentbench.tasks.mirror import Mirror

_SIMILAR_BYTES = 8_000_000  # size of the files that differ; beyond it, another checkout is created


class KnownCheckouts(ChecksummedDocument):
    """The keys of stored checkouts, by their commits."""

    keys: dict[str, str]


class SharedCheckouts:
    """The shared checkouts of one repository on one state after shared commands.

    The caller holds the lock of that state.
    """

    def __init__(self, cache: PreparationCache, shared_key: str, url: str) -> None:
        self._cache = cache
        self._name = hashlib.sha256(f"{shared_key} {url}".encode()).hexdigest()[:32]

    def similar_to(self, mirror: Mirror) -> SnapshotId | None:
        """A checkout of a similar commit, if one is stored."""
        for commit, key in self._known().items():
            if changed_bytes(mirror, commit) <= _SIMILAR_BYTES:
                found = self._cache.load(key)
                if found is not None:
                    return found[0].snapshot
        return None

    def key_of(self, commit: str) -> str:
        """The key of the checkout of a commit, whether or not it is stored."""
        return hashlib.sha256(f"{self._name} {commit}".encode()).hexdigest()[:32]

    def keep(self, commit: str, sandbox: Sandbox) -> SnapshotId:
        """Store the checkout of a commit, which is offered from now on.

        Raises:
            SandboxError: the sandbox is lost.
            OSError: the cache cannot be written.
        """
        stored = self._cache.keep(self.key_of(commit), sandbox)
        self._cache.keep_results(stored, ())
        known = KnownCheckouts(keys={**self._known(), commit: stored.key})
        write_atomically(self._path, known.json_with_checksum().encode())
        return stored.snapshot

    @property
    def _path(self) -> Path:
        return self._cache.folder / f"checkouts-{self._name}.json"

    def _known(self) -> Mapping[str, str]:
        try:
            return KnownCheckouts.model_validate_json(self._path.read_bytes()).keys
        except (OSError, ValidationError):  # missing or damaged: it is recreated
            return {}


def changed_bytes(mirror: Mirror, commit: str) -> float:
    """The size of the files of the mirror's commit that differ in another commit.

    Infinite if the mirror lacks one of the commits.
    """
    before, after = _files_of(mirror, commit), _files_of(mirror, mirror.commit)
    if not before or not after:
        return float("inf")
    return float(sum(size for file, size in after.items() if file not in before))


# The sizes of a commit's files by mode, blob and path; empty if the commit is missing.
def _files_of(mirror: Mirror, commit: str) -> Mapping[bytes, int]:
    listing = mirror.git("ls-tree", "-r", "-l", "-z", commit)
    if not listing.ok:
        return {}
    files = {}
    for line in listing.stdout.split(b"\0"):
        if line:
            meta, _, path = line.partition(b"\t")
            mode, _, blob, size = meta.split()
            files[mode + blob + path] = 0 if size == b"-" else int(size)  # a submodule has no size
    return files
