"""The bodies of the service's requests and answers, for the service and its client."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Base64Bytes, Field, model_validator

from agentbench.attempt.record import RunId
from agentbench.core.schema import Schema
from agentbench.extensions.service.problems import ProblemDetails
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.reward_kind import RewardKind
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem, TaskId

TOKEN_VARIABLE: Final = "AGENTBENCH_SERVE_TOKEN"
"""The variable with the token of the service, for the service and its client."""
TAR: Final = "application/x-tar"
MAX_WAIT: Final = 60.0
"""The longest time in seconds that a request may wait for a job."""
MAX_ENDED: Final = 100
"""The most jobs in one answer."""

Priority = Annotated[int, Field(ge=-100, le=100)]
"""Higher numbers start earlier."""
DeadlineSeconds = Annotated[float, Field(gt=0, le=30 * 24 * 3600, allow_inf_nan=False)]
"""Seconds from now on."""
Group = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""A name that jobs have in common, so that their client finds them."""


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"  # waits for a free slot
    RUNNING = "running"  # is being judged
    DONE = "done"  # has a verdict
    FAILED = "failed"  # could not be judged; see its error
    CANCELLED = "cancelled"  # by its client

    @property
    def has_ended(self) -> bool:
        return self not in {JobState.QUEUED, JobState.RUNNING}


class JobStart(Schema):
    """One begin of judging a job."""

    run_id: RunId
    """The run of the service with the record of this attempt."""
    attempt: int
    """The number of the attempt at the task in this run."""
    started_at: datetime


class ServiceJob(Schema):
    """A change that was submitted to the service."""

    id: str
    group: str | None = None
    """The name that its client gave to several jobs."""
    task_id: TaskId
    task_digest: str
    change_digest: str
    state: JobState
    priority: Priority = 0
    fresh: bool = False
    """Whether the verdict of an equal change does not do."""
    created_at: datetime
    due_at: datetime | None = None
    """Its deadline."""
    starts: tuple[JobStart, ...] = ()
    """Each begin of judging. There are several if the service was killed meanwhile, or if an
    attempt was repeated after a failure of the infrastructure."""
    ended_at: datetime | None = None
    ended_number: int | None = None
    """Its number among the ended jobs, in the order of their ends."""
    verdict: JudgeVerdict | None = None
    error: ProblemDetails | None = None
    """Why it could not be judged."""


class JobFields(Schema):
    """The fields that submissions of patches and of trees share."""

    task: str
    """The id of the task."""
    task_digest: str | None = None
    """The digest of the expected version of the task; null: any."""
    priority: Priority = 0
    deadline: DeadlineSeconds | None = None
    """Seconds from now on. When they have passed, the verdict has no reward."""
    fresh: bool = False
    """Judge the change even if an equal one has a verdict."""
    group: Group | None = None
    """A name that jobs have in common."""


class JobRequest(JobFields):
    """A patch to judge; a tree is the body of a request to /v1/jobs/tree."""

    patch: str | None = None
    """A unified diff against the task's base commit."""
    patch_base64: Base64Bytes | None = None
    """The diff in base64 instead, for one that is not UTF-8."""

    @model_validator(mode="after")
    def _has_one_patch(self) -> "JobRequest":
        if (self.patch is None) == (self.patch_base64 is None):
            raise ValueError("expected either patch or patch_base64")
        return self


class EndedJobs(Schema):
    """Jobs that have ended, in the order of their ends."""

    jobs: tuple[ServiceJob, ...]
    last: int
    """The `after` of the next request."""


class TaskSummary(Schema):
    """A task of the service, as agents may know it."""

    id: TaskId
    digest: str
    problem: Problem


class TaskList(Schema):
    """The tasks of the service."""

    tasks: tuple[TaskSummary, ...]


class SessionRequest(Schema):
    """Asks for a sandbox for an agent."""

    task: str
    """The id of the task."""
    task_digest: str | None = None
    """The digest of the expected version of the task; null: any."""


class SessionDescription(Schema):
    """A sandbox for an agent."""

    id: str
    is_ready: bool
    """Whether there is a sandbox; if not, scoring says what failed before."""
    workspace: str | None
    """The folder of the repository in the sandbox; null: there is none."""
    problem: Problem
    """The part of the task that an agent may know."""


class CommandRequest(Schema):
    """A command to run in a session."""

    argv: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments."""
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Seconds; null: the rest of the agent's time."""
    stdin: str = ""
    stdin_base64: Base64Bytes | None = None
    """The input in base64 instead, for one that is not UTF-8."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Its folder; null: the workspace."""


class ScoreRequest(Schema):
    """Ends a session's work, and asks for the verdict."""

    ending: AgentEnding = AgentEnding.SUBMITTED
    detail: str = Field(default="", max_length=10_000)
    """Why the agent stopped, for the record."""


class ServiceStatus(Schema):
    """The state of the service."""

    version: str
    run_id: RunId
    """The run with the records since its start."""
    sandbox: str
    jobs: int
    """The changes judged at a time."""
    reward: RewardKind
    queued: int
    running: int
    sessions: int
    is_draining: bool
    """Whether it ends what runs, and accepts nothing new."""
