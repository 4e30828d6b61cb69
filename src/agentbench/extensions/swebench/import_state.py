"""The progress of each instance's import, so that an interrupted import can continue.

The folder `.import` in the folder of the tasks has a file for each instance. The file names the row
and the options of its task; if one of them changes, the task is created again.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.files import is_owned, write_atomically
from agentbench.errors import StorageError, UsageError
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.loading import PROOF_FILE, TASK_FILE
from agentbench.tasks.mirror import tree_digest
from agentbench.tasks.problem import TaskId
from agentbench.validation.stored_proof import read_proof

_FOLDER, _LOCK, _UNFINISHED = ".import", "lock", "unfinished"
_LOCK_SECONDS = 0.2
# Increment it if older states must not be used.
_FORMAT = 1


class ImportStep(StrEnum):
    """The steps of an instance, in order."""

    WRITTEN = "written"
    LOCATED = "located"  # its test lists are valid here
    REFUSED = "refused"  # a run showed that it cannot be judged here


class InstanceState(ChecksummedDocument):
    """The progress of an instance."""

    schema_version: Literal[1] = 1
    instance_id: str
    key: str  # of the row and the options
    step: ImportStep
    task_digest: str = ""  # of the task's folder after this step
    environment: str = ""  # the image or the Python
    replaces: str = ""  # the Python that was not available
    differences: tuple[str, ...] = ()  # of the test lists to those of the data set
    refusal: str = Field(default="", description="why it was refused")

    def rejection(self, where: str) -> Rejection:
        """The refusal, for a row at some place."""
        return Rejection(
            where=where, instance=self.instance_id, field="FAIL_TO_PASS", what=self.refusal
        )


def state_key(*parts: object) -> str:
    """The key of all values that determine an instance's task, as values of JSON."""
    text = json.dumps([_FORMAT, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class ImportStates:
    """The states of the instances in one folder of tasks; only one process uses them."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._folder = out / _FOLDER

    def find(self, task_id: TaskId) -> InstanceState | None:
        """The state of an instance; None if there is none, or it is damaged."""
        with suppress(OSError, ValidationError):
            return InstanceState.model_validate_json(self._file(task_id).read_bytes())
        return None

    def save(self, task_id: TaskId, state: InstanceState) -> None:
        """Store a state durably, with the digest of the task's folder.

        Raises:
            StorageError: the disk is full, or the folder cannot be written.
        """
        folder = self.out / task_id
        digest = _digest_of(folder) if folder.is_dir() else ""
        state = state.replace(task_digest=digest)
        with storage_errors(self._folder):
            write_atomically(self._file(task_id), state.json_with_checksum(indent=1).encode())

    def forget(self, task_id: TaskId) -> None:
        """Remove a state, so that the next import creates the task again."""
        self._file(task_id).unlink(missing_ok=True)

    def is_unchanged(self, task_id: TaskId, state: InstanceState) -> bool:
        """Whether only imports have changed a task since."""
        folder = self.out / task_id
        proof = read_proof(folder)
        known = {state.task_digest, proof.task_digest if proof is not None else ""}
        return folder.is_dir() and _digest_of(folder) in known

    def is_done(self, task_id: TaskId, key: str) -> bool:
        """Whether an instance is finished, except for the check that its proof is valid."""
        state, folder = self.find(task_id), self.out / task_id
        if state is None or state.key != key:
            return False
        return state.step is ImportStep.REFUSED or (
            state.step is ImportStep.LOCATED
            and (folder / TASK_FILE).is_file()
            and (folder / PROOF_FILE).is_file()
        )

    def _file(self, task_id: TaskId) -> Path:
        return self._folder / f"{task_id}.json"


@contextmanager
def open_states(out: Path, *, replace: bool) -> Iterator[ImportStates]:
    """The states of a folder, for one import; other imports into it are refused meanwhile.

    With `replace` the states of an earlier import are forgotten, unless it was interrupted.

    Raises:
        UsageError: another import writes into the folder, or it cannot be written.
        StorageError: the disk is full.
    """
    folder = out / _FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from error
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=_LOCK_SECONDS)
    except LockHeldError:
        raise UsageError(
            f"{out}: another import writes into this folder; wait until it ends, or give another "
            "--out"
        ) from None
    try:
        # The half-written tasks of killed imports
        for scratch in out.glob(".new-*/"):
            if not is_owned(scratch):
                shutil.rmtree(scratch, ignore_errors=True)
        with storage_errors(folder):
            if replace and not (folder / _UNFINISHED).exists():
                for state in folder.glob("*.json"):
                    state.unlink()
            (folder / _UNFINISHED).touch()
        yield ImportStates(out)
        (folder / _UNFINISHED).unlink(missing_ok=True)
    finally:
        lock.release()


def _digest_of(folder: Path) -> str:
    return tree_digest(folder, without={PROOF_FILE})


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Raise StorageError for each OSError of the block.

    Raises:
        StorageError: the system refused something; says why and how to continue.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written ({error.strerror or error}); free some space, then run "
            "the same command again to continue"
        ) from error
