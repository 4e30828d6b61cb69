"""Preparations that machines share by a registry.

A machine pushes each preparation under a name derived from everything that it depends on. Another
machine with the same image finds and pulls it. Anyone who can write to the registry decides what
attempts start from.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock

from pydantic import ValidationError

from agentbench.attempt.preparation_cache import PreparationCache, PreparedTask, preparation_key
from agentbench.core.checksums import ChecksummedDocument
from agentbench.errors import SandboxError, UsageError
from agentbench.sandbox.interface import (
    EngineProvider,
    ImageId,
    Limits,
    SandboxProvider,
    SnapshotId,
)
from agentbench.scoring.evidence import StageResult
from agentbench.tasks.task import Task

_LOG = logging.getLogger("agentbench.cache")


class SharedPreparationNote(ChecksummedDocument):
    """The evidence that is pushed with a preparation."""

    key: str
    results: tuple[StageResult, ...]


class SharedPreparations:
    """One repository in a registry. Safe to use from several threads.

    If the registry fails, attempts prepare their tasks themselves. The failure is logged once, and
    the registry is not used again.
    """

    def __init__(self, registry: str, cache: PreparationCache, provider: SandboxProvider) -> None:
        """Share by `registry`, which is `HOST[:PORT][/PATH]`.

        Raises:
            UsageError: snapshots of this sandbox cannot be shared.
        """
        if not isinstance(provider, EngineProvider):
            raise UsageError(
                f"--registry: preparations of the {provider.name} sandbox cannot be shared; use "
                "--sandbox docker"
            )
        self._registry = registry
        self._cache = cache
        self._provider = provider
        self._shares: EngineProvider = provider
        self._lock = Lock()
        self._failed = False

    def fetch(
        self, key: str, task: Task, image: ImageId
    ) -> tuple[PreparedTask, tuple[StageResult, ...]] | None:
        """Load a preparation of another machine into this one's cache.

        Raises:
            SandboxError: the engine is lost.
            OSError: the cache cannot be written.
        """
        shared = preparation_key(task, image, self._provider)
        note = self._pulled(shared, key)
        snapshot = self._provider.find(key)
        if note is None or snapshot is None:
            return None
        with self._provider.open(snapshot, limits=Limits(), network=False) as sandbox:
            self._cache.adopt(key, sandbox, note.results)
        return self._cache.load(key)

    def offer(
        self, snapshot: SnapshotId, task: Task, image: ImageId, results: Sequence[StageResult]
    ) -> None:
        """Share a preparation of this machine with others.

        Raises:
            SandboxError: the engine is lost.
        """
        if self._failed:
            return
        shared = preparation_key(task, image, self._provider)
        note = SharedPreparationNote(key=shared, results=tuple(results))
        try:
            self._shares.push(snapshot, self._name(shared), note.json_with_checksum().encode())
        except SandboxError as fault:
            self._give_up(fault)

    def _pulled(self, shared: str, key: str) -> SharedPreparationNote | None:
        if self._failed:
            return None
        try:
            content = self._shares.pull(self._name(shared), key)
        except SandboxError as fault:
            self._give_up(fault)
            return None
        if content is None:
            return None
        with suppress(ValidationError):
            note = SharedPreparationNote.model_validate_json(content)
            if note.key == shared:
                return note
        _LOG.warning("%s is not a preparation with that name; creating it here", self._name(shared))
        wrong = self._provider.find(key)
        if wrong is not None:
            self._provider.discard(wrong)
        return None

    def _give_up(self, fault: SandboxError) -> None:
        self._provider.check()  # the engine is lost; the registry has not failed
        with self._lock:
            is_first_failure, self._failed = not self._failed, True
        if is_first_failure:
            _LOG.warning("no longer sharing preparations: %s", fault)

    def _name(self, shared: str) -> str:
        return f"{self._registry}/snapshot:{shared}"
