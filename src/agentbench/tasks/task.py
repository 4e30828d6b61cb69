"""A task as the harness knows it: problem, answer key, repository and environment."""

from pathlib import Path, PurePosixPath

from pydantic import Field

from agentbench.core.choices import ControlLevel
from agentbench.core.schema import Schema
from agentbench.tasks.answer_key import AnswerKey
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.scripts import SOLUTION_FOLDER, ScriptedSolution


class RepoSource(Schema):
    """Where the repository comes from: plain files, or a git URL (or bundle) and a commit.

    Or there is none, and the work begins with what the image holds in a folder of its own.
    """

    files: Path | None = None
    url: str | None = None
    commit: str | None = None  # derived for files
    workdir: str | None = None  # the image's folder


_USUAL_WORKDIR = PurePosixPath("/workspace")


class TaskEnvironment(Schema):
    """What the task's sandboxes start from and may use."""

    image: str | None = None
    dockerfile: Path | None = None
    env: dict[str, str] = Field(default_factory=dict)
    cpus: float = 1.0
    memory_mib: int = 2048
    pids: int = 256
    disk_mib: int = 4096
    files: int = 300_000


class TaskSetup(Schema):
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
    environment: TaskEnvironment = TaskEnvironment()
    setup: TaskSetup = TaskSetup()
    controls: ControlLevel = ControlLevel.FULL
    digest: str  # sha256 over every file of the task

    @property
    def id(self) -> TaskId:
        """The task's id."""
        return self.problem.id

    @property
    def scripted_solution(self) -> ScriptedSolution | None:
        """The script that solves it, where that is no patch."""
        script = self.answer_key.solution
        if script is None:
            return None
        return ScriptedSolution(
            command=script.command, env=script.env, folder=self.folder / SOLUTION_FOLDER
        )

    @property
    def workdir(self) -> PurePosixPath | None:
        """Where the workspace has to be in a sandbox; None: wherever that has it."""
        if self.source.workdir is not None:
            return PurePosixPath(self.source.workdir)
        return None if self.answer_key.verifier is None else _USUAL_WORKDIR
