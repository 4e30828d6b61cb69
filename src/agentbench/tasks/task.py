"""A task as the harness knows it: problem, answer key, and what it runs in."""

from pathlib import Path

from pydantic import Field

from agentbench.schema import Schema
from agentbench.tasks.answer_key import AnswerKey
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.source import RepoSource


class Environment(Schema):
    """What the task's sandboxes start from and may use."""

    image: str | None = None
    dockerfile: Path | None = None
    env: dict[str, str] = Field(default_factory=dict)
    cpus: float = 1.0
    memory_mib: int = 2048
    pids: int = 256
    disk_mib: int = 4096
    files: int = 300_000


class Setup(Schema):
    """The commands that make the environment; only they may have a network."""

    commands: tuple[str, ...] = ()
    timeout_s: float = 600.0
    network: bool = True


class Task(Schema):
    """One bug to fix, with everything that is needed to judge an attempt at it."""

    problem: Problem
    answer_key: AnswerKey
    folder: Path
    source: RepoSource
    environment: Environment = Environment()
    setup: Setup = Setup()
    controls: ControlLevel = ControlLevel.FULL
    digest: str  # sha256 over every file of the task

    @property
    def id(self) -> TaskId:
        """The task's id."""
        return self.problem.id
