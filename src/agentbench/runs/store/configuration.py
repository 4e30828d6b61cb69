"""The configuration of a run (run.json), and why a document of a run is refused.

Reasons are damage, an invalid value and a later version of agentbench.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field, ValidationError

from agentbench.attempt.record import SCHEMA_VERSION, RunId
from agentbench.attempt.settings import RunSettings
from agentbench.core.checksums import DAMAGED, ChecksummedDocument
from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.tasks.problem import TaskId


class RunEnding(StrEnum):
    """How a run ended; `null` in run.json if it was killed."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class TaskEntry(Schema):
    """One task of a run."""

    id: TaskId
    folder: str
    digest: str
    image: str | None = None  # None: from a Dockerfile, without an image, or not known at the start
    python: str | None = None  # None: not known before its tests run
    attempts: tuple[int, ...] | None = None  # that a rerun makes; None: all

    def numbers(self, attempts: int) -> Sequence[int]:
        """The planned attempts at the task in a run of so many attempts per task."""
        return range(1, attempts + 1) if self.attempts is None else self.attempts


class RunIdentity(ChecksummedDocument):
    """The first lines of `run.json`: which run it is, and of which agent."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: RunId
    agentbench_version: str
    agent: str


class RunConfiguration(RunSettings, RunIdentity):
    """`run.json`: the run's settings, what they were applied to, and how the run ended."""

    jobs: int
    sandbox: str  # the one that was selected
    sandbox_reason: str
    sandbox_facts: dict[str, str] = Field(default_factory=dict)
    sandbox_lacks: tuple[str, ...] = ()
    tasks: tuple[TaskEntry, ...]
    rerun_of: RunId | None = None  # the run whose failed attempts are made again
    catalogue_commit: str | None = None  # of the git repository that contains the tasks
    catalogue_dirty: bool | None = None
    host: dict[str, str] = Field(default_factory=dict)
    started_at: datetime
    ended_at: datetime | None = None
    ending: RunEnding | None = None

    @property
    def planned_attempts(self) -> int:
        """The number of attempts at all tasks."""
        given = (each.attempts for each in self.tasks)
        return sum(self.attempts if each is None else len(each) for each in given)


def refuse_newer(where: str, content: bytes) -> None:
    """Refuse a document that a later version of agentbench wrote.

    Raises:
        InputError: a later version wrote it.
    """
    try:
        version = json.loads(content).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(
            f"{where}: schema_version {version} is of a newer agentbench, this one reads "
            f"up to {SCHEMA_VERSION}; upgrade agentbench"
        )


def why_invalid(error: ValidationError) -> str:
    """The first fault of a document, on one line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def why_refused(error: ValidationError, where: str, content: bytes) -> str:
    """The first fault of a document that this version of agentbench should read.

    Raises:
        InputError: it is undamaged, and a later version of agentbench wrote it.
    """
    if error.errors()[0]["type"] != DAMAGED:
        refuse_newer(where, content)
    return why_invalid(error)
