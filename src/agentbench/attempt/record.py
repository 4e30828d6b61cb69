"""The record of one attempt, and judging the attempt again from its record."""

from datetime import datetime, timedelta
from typing import Final, Literal, NewType

from pydantic import Field

from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.choices import AGENT_USER, UserName, VerifierPlace
from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.integrity.records import Controls, DroppedPath
from agentbench.integrity.tool_caches import ToolCache
from agentbench.scoring.classification import Failure
from agentbench.scoring.evidence import AgentEnding, Ending, Evidence, Finding, StageResult
from agentbench.scoring.expectation import ExpectedTests, with_node_ids
from agentbench.scoring.taxonomy import FailureReason, Fault, StageName
from agentbench.scoring.verdict import CaseChange, ChangeCounts, Verdict, judge
from agentbench.tasks.problem import TaskId

RunId = NewType("RunId", str)
"""UTC time and some random letters: sorts by time."""

SCHEMA_VERSION: Final = 1
"""Of run.json and of every AttemptRecord."""


class StageRecord(Schema):
    """One stage: how it ended, how long it took, and the evidence that it brought back."""

    name: StageName
    started_at: datetime
    duration_s: float
    cached: bool = False
    ending: Ending | None = None
    exit_code: int | None = None
    signal: int | None = None
    output_bytes: int = 0
    truncated: bool = False
    peak_memory_bytes: int | None = None
    cpu_seconds: float | None = None
    timeout_s: float | None = None
    log: str | None = None  # relative to the attempt's folder
    evidence: Evidence


class PatchRecord(Schema):
    """The agent's change as it was judged."""

    path: str
    sha256: str
    files: int
    insertions: int
    deletions: int
    dropped: tuple[DroppedPath, ...] = ()
    tool_caches: tuple[ToolCache, ...] = Field(
        default=(), description="what tools left behind; neither judged nor counted above"
    )


class AgentRecord(Schema):
    """What the agent did."""

    ending: AgentEnding
    detail: str = ""
    steps: int = 0
    tool_calls: int = 0
    tool_errors_recovered: int = 0
    test_runs: int = 0


class UsageRecord(Schema):
    """What model calls came to; `cost_usd` is null when no price is known, never 0 for that."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    llm_errors: dict[str, int] = Field(default_factory=dict)


class TimingRecord(Schema):
    """Seconds; `overhead_s` is what is left of the total without all the others."""

    total_s: float
    agent_s: float = 0.0
    tests_s: float = 0.0
    setup_s: float = 0.0
    controls_s: float = 0.0  # that the verdict waited for control runs after the final test
    overhead_s: float = 0.0
    queue_wait_s: float = 0.0


class TaskStepRecord(Schema):
    """One step of a task with several instructions."""

    name: str
    ran: bool = True
    rewards: dict[str, float] | None = Field(default=None, description="null: it has no result")
    fault: str = Field(default="", description="why it has no result, in words")
    shortfall: str = Field(default="", description="why its rewards end the rest, in words")
    agent: AgentEnding | None = None
    agent_detail: str = ""
    agent_s: float = 0.0
    verifier_s: float = 0.0
    user: UserName = AGENT_USER
    verifier_user: UserName | None = None  # None: the same
    verifier_environment: VerifierPlace
    network: Network = False
    verifier_network: Network = False
    evidence: str | None = Field(default=None, description="relative to the attempt's folder")


class EnvironmentRecord(Schema):
    """What the attempt ran in."""

    sandbox: str
    facts: dict[str, str] = Field(default_factory=dict)
    lacks: tuple[str, ...] = ()  # promises that this back end does not keep here
    image: str | None = None  # its id
    image_name: str | None = None  # None: of a Dockerfile, or no image at all
    python: str | None = None  # None: no test ran, and the image's name does not say it
    snapshot: str | None = None
    cpus: float
    memory_mib: int
    pids: int
    disk_mib: int
    files: int | None = None  # None: a record from before files were counted
    network: dict[StageName, Network] | Literal["none for agent and tests"] = (
        "none for agent and tests"
    )
    """By stage. The text is that of records from before tasks could ask for one."""
    user: UserName = AGENT_USER
    runtime: str | None = None  # None: the engine's default one
    verifier_user: UserName | None = None  # None: the same, or no script judges
    verifier_environment: VerifierPlace | None = None  # None: no script judges


class AttemptRecord(ChecksummedDocument):
    """One attempt of one agent at one task."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: RunId
    task_id: TaskId
    attempt: int
    retry_of: int | None = None  # how many tries at this attempt went before
    agent: str
    model: str | None = None
    task_digest: str
    started_at: datetime

    resolved: bool
    quarantined: bool
    failure_reason: FailureReason | None
    fault: Fault | None
    detail: str = ""
    failures: tuple[Failure, ...] = ()

    expected: ExpectedTests
    stages: tuple[StageRecord, ...] = ()
    tests: tuple[CaseChange, ...] = ()
    counts: ChangeCounts = ChangeCounts()
    rewards: dict[str, float] | None = Field(
        default=None, description="of a task that a script of its own judges: what that gave"
    )
    steps: tuple[TaskStepRecord, ...] = Field(
        default=(), description="of a task with several instructions: all, in their order"
    )
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    controls: Controls | None = None
    patch: PatchRecord | None = None
    agent_run: AgentRecord | None = None
    usage: UsageRecord | None = None
    timing: TimingRecord
    environment: EnvironmentRecord

    def expected_node_ids(self) -> ExpectedTests:
        """The expected tests, with node ids in place of names that the runner printed."""
        return with_node_ids(self.expected, *(stage.evidence for stage in self.stages))


def rescore(record: AttemptRecord) -> AttemptRecord:
    """The record with the verdict that today's rules give its evidence."""
    return record.model_copy(update=dict(rejudge(record)))


def rejudge(record: AttemptRecord) -> Verdict:
    """Judge a record's evidence."""
    results = [
        StageResult(
            stage=stage.name,
            evidence=stage.evidence,
            started_at=stage.started_at,
            duration=timedelta(seconds=stage.duration_s),
            cached=stage.cached,
        )
        for stage in record.stages
    ]
    return judge(record.expected, results)
