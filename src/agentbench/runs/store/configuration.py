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
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError
from agentbench.tasks.problem import TaskId


class RunEnding(StrEnum):
    """The ending of a run; `null` in run.json if it was killed."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class TaskQuality(Schema):
    """What is known of a task's tests, from the proof of the same files; null: not measured."""

    rejects_right_fixes: bool | None = None
    """Whether they are known to reject right fixes."""
    accepts_mutants: bool | None = None
    """Whether small changes of the reference solution pass them."""
    accepts_wrong_fixes: bool | None = None
    """Whether one of these is shown to be wrong; null: also if some may be right."""


class TaskEntry(Schema):
    """One task of a run."""

    id: TaskId
    """The id of the task."""
    folder: str
    """The task's folder on the machine that made the run."""
    digest: str
    """A digest of its files."""
    image: str | None = None
    """Its image; null: from a Dockerfile, without an image, or not known at the start."""
    python: str | None = None
    """Its version of Python; null: not known before its tests run."""
    attempts: tuple[int, ...] | None = None
    """The numbers of the attempts that a rerun makes; null: all."""
    quality: TaskQuality = TaskQuality()
    """What was known of its tests when the run began."""

    def numbers(self, attempts: int) -> Sequence[int]:
        """The planned attempts at the task, in a run with this number of attempts per task."""
        return range(1, attempts + 1) if self.attempts is None else self.attempts


class RunIdentity(ChecksummedDocument):
    """The first lines of `run.json`: the identities of the run and of its agent."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """The version of this format; agentbench refuses newer ones."""
    run_id: RunId
    """The id of the run."""
    agentbench_version: str
    """The version of agentbench that made it."""
    agent: str
    """The name of the agent."""


class RunConfiguration(RunSettings, RunIdentity):
    """`run.json`: the run's settings, its tasks and its ending."""

    jobs: int
    """The maximum number of parallel attempts."""
    sandbox: str
    """The name of the selected back end."""
    sandbox_reason: str
    """Why this back end was selected, in words."""
    sandbox_facts: dict[str, str] = Field(default_factory=dict)
    """The back end's facts about itself, such as the engine's version."""
    sandbox_lacks: tuple[str, ...] = ()
    """Promises that this back end does not keep on this machine."""
    tasks: tuple[TaskEntry, ...]
    """The tasks of the run."""
    rerun_of: RunId | None = None
    """The run whose failed attempts are repeated."""
    catalogue_commit: str | None = None
    """The commit of the git repository that contains the tasks; null: none does."""
    catalogue_dirty: bool | None = None
    """Whether this repository had changes that were not committed."""
    host: dict[str, str] = Field(default_factory=dict)
    """Facts about the machine, such as its kernel."""
    started_at: datetime
    """When the run started, in UTC."""
    ended_at: datetime | None = None
    """When it ended; null: it has not, or was killed."""
    ending: RunEnding | None = None
    """How it ended; null: it has not, or was killed."""

    @property
    def planned_attempts(self) -> int:
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
    if first["type"] == DAMAGED:  # it is about the whole document
        return f"digest: {first['msg']}"
    return describe_validation_error(first, Schema)


def why_refused(error: ValidationError, where: str, content: bytes) -> str:
    """The first fault of a document that this version of agentbench should read.

    Raises:
        InputError: it is undamaged, and a later version of agentbench wrote it.
    """
    if error.errors()[0]["type"] != DAMAGED:
        refuse_newer(where, content)
    return why_invalid(error)
