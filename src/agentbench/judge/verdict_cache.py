"""Verdicts of earlier changes in the cache, by everything that they depend on.

Each verdict is a file of its own, written completely or not at all, so that several processes can
share the cache.
"""

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import ValidationError

import agentbench
from agentbench.attempt.settings import RunSettings
from agentbench.core.files import write_atomically
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.runs.store.configuration import TaskEntry

FOLDER = "verdicts"  # below the cache folder


@cache
def rules_version() -> str:
    """A digest of agentbench's own code: a change of any rule makes earlier verdicts unusable."""
    # A number that somebody has to raise by hand would be forgotten once.
    digest = hashlib.sha256()
    root = Path(agentbench.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


class VerdictCache:
    """The stored verdicts of one sandbox and one set of settings. Safe to use from threads."""

    def __init__(self, cache_dir: Path, sandbox: str, settings: RunSettings) -> None:
        self._folder = cache_dir / FOLDER
        # All settings, since a list of those that matter would miss the next one.
        self._common = [rules_version(), sandbox, settings.model_dump(mode="json")]

    def load(self, entry: TaskEntry, image: str, change_digest: str) -> JudgeVerdict | None:
        """The verdict on an equal change to an equal task in an equal image, if one is stored."""
        path = self._path(entry, image, change_digest)
        # A damaged file is as good as none.
        with suppress(OSError, ValidationError):
            found = JudgeVerdict.model_validate_json(path.read_bytes())
            if (found.task_digest, found.change_digest) == (entry.digest, change_digest):
                return found.replace(from_cache=True, task_id=entry.id)
        return None

    def store(self, entry: TaskEntry, image: str, verdict: JudgeVerdict) -> None:
        """Store a verdict, unless it has no reward: then scoring again may give another one."""
        if verdict.reward is None:
            return
        path = self._path(entry, image, verdict.change_digest)
        # The cache may be full or read-only: the verdict itself is not lost.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, verdict.model_dump_json().encode())

    def _path(self, entry: TaskEntry, image: str, change_digest: str) -> Path:
        key = json.dumps([*self._common, entry.digest, image, change_digest], sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"
