"""What clone, checkout and set-up leave behind, kept so that the next attempt need not repeat it.

A preparation is a snapshot of the provider, the base tree as a tar of ours, and the evidence of
the three stages. It is keyed by everything that went into it.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from agentbench.sandbox.interface import ImageId, Sandbox, SandboxProvider, SnapshotId
from agentbench.schema import Schema
from agentbench.scoring.evidence import StageResult
from agentbench.stages.verification.control_memory import ControlMemory
from agentbench.stages.verification.tree import Kind, Tree, read_tree
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.task import Task

_FORMAT = 1  # raised whenever a preparation of an older agentbench must not be used
_RESULTS = TypeAdapter(tuple[StageResult, ...])
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The state before an agent: a snapshot to start from, and the base tree."""

    snapshot: SnapshotId
    base: Tree
    base_tar: Path

    def content(self, path: PurePosixPath) -> bytes | None:
        """The base's content of a regular file; `None` where it has none of that path."""
        entry = self.base.entries.get(path)
        if entry is None or entry.kind is not Kind.FILE:
            return None
        with self.base_tar.open("rb") as source:
            source.seek(entry.offset)
            return source.read(entry.size)


class CachedBaseline(Schema):
    """A baseline run: its evidence, and the serializer's result as JSON."""

    result: StageResult
    report: bytes


def preparation_key(task: Task, image: ImageId, provider: SandboxProvider) -> str:
    """Names a preparation by what goes into it: provider, image, repository, set-up."""
    source = task.source
    parts = {
        "format": _FORMAT,
        "provider": provider.name,
        "image": image,
        "repo": tree_digest(source.files) if source.files else [source.url, source.commit],
        "setup": task.setup.model_dump(mode="json"),
        "env": task.environment.env,
    }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def baseline_key(task: Task, preparation: str) -> str:
    """Names a baseline run: the preparation, the hidden tests, how they run, the limits."""
    key = task.answer_key
    parts = [
        preparation,
        hashlib.sha256(key.tests_patch).hexdigest(),
        key.model_dump(mode="json", include={"fail_to_pass", "pass_to_pass"}),
        task.problem.model_dump(mode="json", include={"test_command", "test_paths"}),
        task.environment.model_dump(mode="json", exclude={"dockerfile"}),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


class PreparationCache:
    """Preparations and baselines below one folder of the host."""

    def __init__(self, folder: Path, provider: SandboxProvider) -> None:
        self._folder = folder / provider.name
        self._folder.mkdir(parents=True, exist_ok=True)
        self._provider = provider

    @property
    def folder(self) -> Path:
        """Where it all lies."""
        return self._folder

    def lock_path(self, key: str) -> Path:
        """The file to hold a lock on while a preparation is made."""
        return self._folder / f"{key}.lock"

    def load(self, key: str) -> tuple[Prepared, tuple[StageResult, ...]] | None:
        """A preparation and the evidence of its stages, if it is still whole."""
        folder = self._folder / key
        snapshot = self._provider.find(key)
        if snapshot is None:
            return None
        try:
            results = _RESULTS.validate_json((folder / "stages.json").read_bytes())
            prepared = self._prepared(snapshot, folder / "base.tar")
        except (OSError, ValidationError, tarfile.TarError):
            return None  # torn, or not complete; it is made again
        return prepared, tuple(map(_as_cached, results))

    def keep(self, key: str, sandbox: Sandbox) -> Prepared:
        """Take a preparation out of the sandbox that set-up ended in."""
        folder = self._folder / key
        scratch = Path(tempfile.mkdtemp(dir=self._folder, prefix=f"{key}-"))
        try:
            with (
                sandbox.read_tree(sandbox.workspace) as chunks,
                (scratch / "base.tar").open("wb") as target,
            ):
                for chunk in chunks:
                    target.write(chunk)
            snapshot = sandbox.snapshot(key)
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return self._prepared(snapshot, folder / "base.tar")

    def keep_results(self, key: str, results: Sequence[StageResult]) -> None:
        """Complete a preparation with the evidence of its stages; before that it is not loaded."""
        _write(self._folder / key / "stages.json", _RESULTS.dump_json(tuple(results)))

    def forget(self, key: str) -> None:
        """Give up a preparation and free what it holds."""
        shutil.rmtree(self._folder / key, ignore_errors=True)
        snapshot = self._provider.find(key)
        if snapshot is not None:
            self._provider.discard(snapshot)

    def load_baseline(self, key: str) -> CachedBaseline | None:
        """A baseline run of this machine that showed what it should."""
        path = self._folder / f"baseline-{key}.json"
        try:
            kept = CachedBaseline.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None
        return kept.model_copy(update={"result": _as_cached(kept.result)})

    def keep_baseline(self, key: str, baseline: CachedBaseline) -> None:
        """Keep a baseline run for later attempts at the same task."""
        _write(self._folder / f"baseline-{key}.json", baseline.model_dump_json().encode())

    def control_memory(self, key: str) -> ControlMemory:
        """What the reference solution has shown about the controls of a task."""
        return ControlMemory(self._folder / f"controls-{key}.json")

    def _prepared(self, snapshot: SnapshotId, base_tar: Path) -> Prepared:
        with base_tar.open("rb") as source:
            base = read_tree(iter(lambda: source.read(_CHUNK), b""))
        return Prepared(snapshot=snapshot, base=base, base_tar=base_tar)


def _as_cached(result: StageResult) -> StageResult:
    evidence = result.evidence.model_copy(update={"own_seconds": 0.0})
    return result.model_copy(update={"cached": True, "evidence": evidence})


def _write(path: Path, content: bytes) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_bytes(content)
    scratch.replace(path)
