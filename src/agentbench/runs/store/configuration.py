"""What a run was asked to do (run.json), and why a document of a run is not taken.

Damaged, invalid, or of a version to come.
"""

import json
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field, ValidationError

from agentbench.attempt.record import SCHEMA_VERSION, RunId
from agentbench.core.checksums import DAMAGED, ChecksummedDocument
from agentbench.core.choices import ControlLevel, ExecutorName
from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.tasks.problem import TaskId


class RunEnding(StrEnum):
    """How a run ended; one that was killed says nothing (`null` in run.json)."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class TaskEntry(Schema):
    """One task of a run."""

    id: TaskId
    folder: str
    digest: str
    image: str | None = None  # None: of a Dockerfile, no image at all, or not known at the start
    python: str | None = None  # None: not known before its tests run


class RunConfiguration(ChecksummedDocument):
    """`run.json`."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: RunId
    agentbench_version: str
    agent: str
    agent_command: str | None = None
    model: str | None = None
    base_url: str | None = None
    prices: str | None = None  # a file
    record: str | None = None  # a file, absolute
    replay: str | None = None
    attempts: int = 1
    jobs: int
    executor: ExecutorName = ExecutorName.LOCAL
    sandbox: str  # the one that was chosen
    sandbox_reason: str
    sandbox_facts: dict[str, str] = Field(default_factory=dict)
    sandbox_lacks: tuple[str, ...] = ()
    timeout_scale: float = 1.0
    retries: int = 2
    max_outage_s: float | None = None  # None: as long as what is away may well take
    attempt_timeout_s: float | None = None  # None: what all stages may take, and some more
    use_cache: bool = True
    registry: str | None = None  # by which machines share preparations
    max_cost_usd: float | None = None
    integrity_controls: ControlLevel | None = None  # None: each task's own
    shuffle_seed: int | None = None
    tasks: tuple[TaskEntry, ...]
    catalogue_commit: str | None = None  # of the git repository that the tasks lie in
    catalogue_dirty: bool | None = None
    host: dict[str, str] = Field(default_factory=dict)
    started_at: datetime
    ended_at: datetime | None = None
    ending: RunEnding | None = None


def refuse_newer(where: str, content: bytes) -> None:
    """Say so where a document is of a version to come.

    Raises:
        InputError: it is.
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
    """The first thing that is wrong with a document, on one line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def is_damage(error: ValidationError) -> bool:
    """Whether a document's digest says that it is not what was written."""
    return error.errors()[0]["type"] == DAMAGED
