"""Stored preparations and baseline runs.

A preparation is a snapshot of the back end, the base tree, and the evidence of clone, checkout and
set-up. Its key is derived from everything that it depends on. It is checked when it is loaded; a
damaged preparation is recreated.
"""

import hashlib
import json
import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from agentbench.attempt.base_tree import (
    BaseTree,
    base_tree_digest,
    load_base_tree,
    store_base_tree,
)
from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.file_locks import SharedLock, removal_lock, users_file
from agentbench.core.files import owned_folder, read_or_create_identity, write_atomically
from agentbench.errors import SandboxError
from agentbench.integrity.control_plan import ControlMemory
from agentbench.integrity.sealing.memory import SealedMemory
from agentbench.integrity.trees import BaseContent, WorkspaceTree
from agentbench.sandbox.interface import ImageId, Sandbox, SandboxProvider, SnapshotId
from agentbench.scoring.evidence import StageResult
from agentbench.tasks.loading import PROOF_FILE
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.scripts import VERIFIER_FOLDER
from agentbench.tasks.task import Task
from agentbench.tasks.users import AGENT_USER

_FORMAT = 3  # incremented when preparations of an older agentbench must not be used
_BASELINE_FORMAT = 3  # the same for baseline runs
UNCACHED_PREFIX = "once-"
"""The first characters of the key of a preparation that only one attempt may use."""

_STAGES, _IDENTITY = "stages.json", "cache-id"
_MOST_LOCKS = 256  # locks, each with a descriptor
_DAMAGED = "%s was damaged on disk; it is recreated"
_LOG = logging.getLogger("agentbench.cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTask:
    """The state before an agent: a snapshot to start from, and the base tree."""

    key: str
    snapshot: SnapshotId
    base: WorkspaceTree
    content: BaseContent = field(compare=False, repr=False)
    # Prevents other processes from evicting it.
    use: SharedLock | None = field(default=None, compare=False, repr=False)
    # Other attempts at the task share what was loaded as long as one of them has it.
    loaded: "LoadedPreparation | None" = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPreparation:
    """A stored preparation: its base tree, and the evidence of its stages."""

    base: BaseTree
    results: tuple[StageResult, ...]


class StoredPreparation(ChecksummedDocument):
    """The evidence of the three stages, and the digest of the base tree."""

    results: tuple[StageResult, ...]
    base_tree: str


class StoredBaseline(ChecksummedDocument):
    """A baseline run: its evidence, and the serializer's result as JSON."""

    result: StageResult
    report: bytes


def preparation_key(task: Task, image: ImageId, provider: SandboxProvider) -> str:
    """The key of a preparation, derived from back end, image, repository and set-up."""
    source = task.source
    parts = {
        "format": _FORMAT,
        "provider": provider.name,
        "image": image,
        "repo": tree_digest(source.files) if source.files else [source.url, source.commit],
        "workdir": str(task.workdir),
        # Keys of tasks without shared commands are those of an older agentbench.
        "setup": task.setup.model_dump(
            mode="json", exclude=None if task.setup.shared else {"shared"}
        ),
        "env": task.environment.env,
    }
    if task.environment.user != AGENT_USER:  # other keys are those of an older agentbench
        parts["user"] = task.environment.user
    if task.environment.runtime is not None:  # the same
        parts["runtime"] = task.environment.runtime
    if task.environment.compose is not None:  # set-up may have used the services
        parts["compose"] = tree_digest(task.environment.compose.parent, without={PROOF_FILE})
    return _digest_of_json(parts)


def shared_setup_key(task: Task, image: ImageId, provider: SandboxProvider) -> str:
    """The key of the state after the shared commands: no repository is part of it."""
    setup = task.setup
    return _digest_of_json(
        [_FORMAT, provider.name, image, setup.shared, setup.network, task.environment.env]
        + ([task.environment.user] if task.environment.user != AGENT_USER else [])
        + ([f"runtime {task.environment.runtime}"] if task.environment.runtime else [])
    )


def baseline_key(task: Task, preparation: str) -> str:
    """The key of a baseline run: the preparation, the hidden tests, how they run, the limits."""
    key = task.answer_key
    parts = [
        _BASELINE_FORMAT,
        preparation,
        hashlib.sha256(key.tests_patch).hexdigest(),
        key.model_dump(mode="json", include={"fail_to_pass", "pass_to_pass", "verifier"}),
        tree_digest(task.folder / VERIFIER_FOLDER) if key.verifier is not None else None,
        task.problem.model_dump(mode="json", include={"test_command", "test_before", "test_paths"}),
        task.environment.model_dump(mode="json", exclude={"dockerfile", "compose", "runtime"}),
    ]
    return _digest_of_json(parts)


def judging_key(task: Task) -> str:
    """The key of a task among those that a machine judges at the same time."""
    key = task.answer_key
    tests = hashlib.sha256(key.tests_patch).hexdigest()
    return _digest_of_json([task.id, tests, key.fail_to_pass])


def _digest_of_json(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def baseline_to_store(result: StageResult, task: Task, folder: Path) -> StoredBaseline | None:
    """A baseline run as later attempts may use it; None if it may not hold for them.

    Args:
        result: Its evidence. If a service has failed in it, another run may end differently.
        task: The task. If a script judges it, the key covers neither its steps nor its image.
        folder: The folder of the attempt, with the serializer's result; a script leaves none.
    """
    verifier, report = task.answer_key.verifier, folder / "baseline.json"
    if result.evidence.warnings:
        return None
    if report.is_file():
        return StoredBaseline(result=result, report=report.read_bytes())
    if verifier is None or verifier.image is not None or task.steps:
        return None
    return None if any(folder.glob("baseline-*")) else StoredBaseline(result=result, report=b"")


class PreparationCache:
    """Preparations and baselines below one folder of the host. Safe to use from several threads.

    No process evicts an entry that an attempt uses, nor one of the last few hundred that this
    object has loaded or stored.
    """

    def __init__(self, folder: Path, provider: SandboxProvider) -> None:
        self._folder = folder / provider.name
        self._folder.mkdir(parents=True, exist_ok=True)
        self._provider = provider
        self._uses: OrderedDict[str, SharedLock] = OrderedDict()
        self.failed_shared_setups: set[str] = set()  # keys; tasks run these commands themselves
        self._sealed: dict[str, SealedMemory] = {}
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        """The folder of the cache."""
        return self._folder

    def key(self, task: Task, image: ImageId) -> str:
        """The key of a preparation in this cache.

        Caches that share an engine share no snapshots, since one cache could evict a snapshot that
        another one uses. A cache that was moved keeps its own.

        Raises:
            OSError: the cache cannot be written.
        """
        return self._own_key(preparation_key(task, image, self._provider))

    def shared_key(self, task: Task, image: ImageId) -> str:
        """The key of the state after a task's shared commands, in this cache.

        Raises:
            OSError: the cache cannot be written.
        """
        return self._own_key(shared_setup_key(task, image, self._provider))

    def _own_key(self, key: str) -> str:
        identity = read_or_create_identity(self._folder / _IDENTITY)
        return hashlib.sha256(f"{identity} {key}".encode()).hexdigest()[:32]

    def lock_path(self, key: str) -> Path:
        """The file to lock while a preparation is created."""
        return self._folder / f"{key}.lock"

    def load(self, key: str) -> tuple[PreparedTask, tuple[StageResult, ...]] | None:
        """A preparation and the evidence of its stages, if it is complete and undamaged.

        Raises:
            SandboxError: the engine is lost.
        """
        folder = self._folder / key
        snapshot = self._provider.find(key)
        if snapshot is None:
            return None
        use = self._use(key)
        try:
            loaded = _loaded(folder)
            with suppress(OSError):
                os.utime(folder)  # the time of the last use, for eviction
        except FileNotFoundError:
            return None  # never completed, or stored by an older agentbench as a tar
        except (OSError, ValidationError):
            _LOG.warning(_DAMAGED, folder)
            return None
        return _prepared(key, snapshot, loaded.base, use, loaded), loaded.results

    def keep(self, key: str, sandbox: Sandbox) -> PreparedTask:
        """Store the state of the sandbox after set-up; `keep_results` completes it."""
        return self._store(key, sandbox, lambda: sandbox.snapshot(key))

    def adopt(self, key: str, sandbox: Sandbox, results: Sequence[StageResult]) -> PreparedTask:
        """Store a preparation of another machine.

        Args:
            key: The key of its snapshot in this cache.
            sandbox: A fresh sandbox from that snapshot.
            results: The evidence of its stages.
        """
        prepared = self._store(key, sandbox, lambda: self._found(key))
        self.keep_results(prepared, results)
        return prepared

    def _store(self, key: str, sandbox: Sandbox, take: Callable[[], SnapshotId]) -> PreparedTask:
        folder = self._folder / key
        use = self._use(key)
        with owned_folder(f"{key}-", self._folder) as scratch:
            (scratch / "kept").mkdir()
            with sandbox.read_tree(sandbox.workspace) as chunks:
                store_base_tree(chunks, scratch / "kept")
            snapshot = take()
            shutil.rmtree(folder, ignore_errors=True)
            (scratch / "kept").rename(folder)
        return _prepared(key, snapshot, load_base_tree(folder), use)

    def _found(self, key: str) -> SnapshotId:
        found = self._provider.find(key)
        if found is None:
            raise SandboxError(f"the snapshot {key} is gone again")
        return found

    def keep_results(self, prepared: PreparedTask, results: Sequence[StageResult]) -> None:
        """Complete a preparation with the evidence of its stages; until then it is not loaded."""
        folder = self._folder / prepared.key
        preparation = StoredPreparation(results=tuple(results), base_tree=base_tree_digest(folder))
        write_atomically(folder / _STAGES, preparation.json_with_checksum().encode())

    def forget(self, key: str) -> None:
        """Remove a preparation and its snapshot."""
        shutil.rmtree(self._folder / key, ignore_errors=True)
        snapshot = self._provider.find(key)
        if snapshot is not None:
            self._provider.discard(snapshot)
        with self._lock:
            self._uses.pop(key, None)
        users_file(self._folder / key).unlink(missing_ok=True)

    def forget_dead(self) -> int:
        """Remove uncached preparations of killed runs; returns how many there were.

        Raises:
            SandboxError: the engine is lost.
        """
        dead = 0
        for users in self._folder.glob(f"{UNCACHED_PREFIX}*.users"):
            key = users.name.removesuffix(".users")
            with removal_lock(self._folder / key) as allowed:
                if allowed:
                    self.forget(key)
                    dead += 1
            if allowed:
                self.lock_path(key).unlink(missing_ok=True)
        return dead

    def load_baseline(self, key: str) -> StoredBaseline | None:
        """A stored baseline run of this machine."""
        path = self._folder / f"baseline-{key}.json"
        try:
            stored = StoredBaseline.model_validate_json(path.read_bytes())
            return stored.replace(result=as_cached(stored.result))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            _LOG.warning(_DAMAGED, path)
            return None

    def keep_baseline(self, key: str, baseline: StoredBaseline) -> None:
        """Keep a baseline run for later attempts at the same task."""
        with log_cache_failure():
            path = self._folder / f"baseline-{key}.json"
            write_atomically(path, baseline.json_with_checksum().encode())

    def control_memory(self, key: str) -> ControlMemory:
        """The stored memory of test functions of a task whose control runs prove nothing."""
        return ControlMemory(self._folder / f"controls-{key}.json")

    def sealed_memory(self, key: str | None, task: Task) -> SealedMemory:
        """The stored recordings of a task's reference solution; without a key for this process."""
        with self._lock:
            known = self._sealed.get(key or judging_key(task))
            if known is None:
                path = None if key is None else self._folder / f"sealed-{key}.json"
                known = self._sealed[key or judging_key(task)] = SealedMemory(path)
        return known

    def _use(self, key: str) -> SharedLock:
        with self._lock:
            use = self._uses.pop(key, None) or SharedLock(self._folder / key)
            self._uses[key] = use
            if len(self._uses) > _MOST_LOCKS:
                self._uses.popitem(last=False)
        return use


def _loaded(folder: Path) -> LoadedPreparation:
    """Load what is stored in a folder.

    Raises:
        OSError: a file cannot be read, or the base tree is damaged.
        ValidationError: the evidence is damaged.
    """
    digest = base_tree_digest(folder)
    entry = StoredPreparation.model_validate_json((folder / _STAGES).read_bytes())
    if digest != entry.base_tree:
        raise OSError(f"{folder}: the base tree is not the one that was stored")
    return LoadedPreparation(
        base=load_base_tree(folder), results=tuple(map(as_cached, entry.results))
    )


def _prepared(
    key: str,
    snapshot: SnapshotId,
    base: BaseTree,
    use: SharedLock,
    loaded: LoadedPreparation | None = None,
) -> PreparedTask:
    return PreparedTask(
        key=key,
        snapshot=snapshot,
        base=base.entries,
        content=base.content,
        use=use,
        loaded=loaded,
    )


def as_cached(result: StageResult) -> StageResult:
    """The evidence of a stage that was not run again."""
    evidence = result.evidence.replace(own_seconds=0.0)
    return result.replace(cached=True, evidence=evidence)


@contextmanager
def closing_sandboxes() -> Iterator[ExitStack]:
    """Closes sandboxes after their work; a failure to remove one is only logged."""
    with ExitStack() as resources:
        yield resources
        with log_removal_failure():
            resources.pop_all().close()


@contextmanager
def log_removal_failure() -> Iterator[None]:
    """Log a failure to remove something; the next start removes it."""
    try:
        yield
    except (SandboxError, OSError) as fault:
        _LOG.warning("a sandbox or its state is left behind (%s); the next start removes it", fault)


@contextmanager
def log_cache_failure() -> Iterator[None]:
    """Log a failure to store something; later attempts recreate it."""
    try:
        yield
    except OSError as fault:
        _LOG.warning("cannot write to the cache (%s); the task is prepared again next time", fault)
