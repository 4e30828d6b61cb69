"""The record of one attempt, and how to judge the attempt again from it."""

from datetime import datetime, timedelta
from typing import Final, Literal, NewType

from pydantic import Field

from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.display_text import list_with_more
from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.integrity.records import TEST_OF_TASK, Controls, DroppedPath
from agentbench.integrity.tool_caches import ToolCache
from agentbench.scoring.classification import Failure
from agentbench.scoring.evidence import AgentEnding, Ending, Evidence, Finding, StageResult
from agentbench.scoring.expectation import ExpectedTests, with_node_ids
from agentbench.scoring.verdict import CaseChange, ChangeCounts, Verdict, judge
from agentbench.tasks.problem import TaskId
from agentbench.tasks.scripts import VerifierEnvironment
from agentbench.tasks.users import AGENT_USER, UserName
from agentbench.taxonomy import FailureReason, Fault, StageName
from agentbench.test_runs.python_files import BYTE_CODE

RunId = NewType("RunId", str)
"""UTC time and some random letters: sorts by time."""

_MAX_DROPPED = 3  # named in a detail
SCHEMA_VERSION: Final = 1
"""The version of the format of run.json and of every AttemptRecord."""


class StageRecord(Schema):
    """One stage: how it ended, how long it took, and its evidence."""

    name: StageName
    """Which of the six stages it is."""
    started_at: datetime
    """When it started, in UTC."""
    duration_s: float
    """How long it took, in seconds."""
    cached: bool = False
    """Whether its result comes from an earlier attempt."""
    ending: Ending | None = None
    """How its deciding command ended; null: it ran no command."""
    exit_code: int | None = None
    """The exit code of that command; null: it ran none, or the command did not exit by itself."""
    signal: int | None = None
    """The signal that ended the command, if one did."""
    output_bytes: int = 0
    """The size of the command's output on both streams, before it was truncated."""
    truncated: bool = False
    """Whether the middle of the output was omitted."""
    peak_memory_bytes: int | None = None
    """The most memory that the command used at a time; null: not measured."""
    cpu_seconds: float | None = None
    """The processor time of the command; null: not measured."""
    timeout_s: float | None = None
    """The stage's time limit in seconds."""
    log: str | None = None
    """The file with its output, relative to the attempt's folder; null: it has no output."""
    evidence: Evidence
    """The facts that the verdict depends on."""


class PatchRecord(Schema):
    """The judged part of the agent's change."""

    path: str
    """Its file, relative to the attempt's folder."""
    sha256: str
    """The digest of this file, in hexadecimal digits."""
    files: int
    """The number of changed files."""
    insertions: int
    """The number of added lines."""
    deletions: int
    """The number of removed lines."""
    dropped: tuple[DroppedPath, ...] = ()
    """Changed paths that are not judged."""
    tool_caches: tuple[ToolCache, ...] = ()
    """The files that tools left behind; neither judged nor counted above."""


class AgentRecord(Schema):
    """The agent's work in numbers."""

    ending: AgentEnding
    """How it stopped."""
    detail: str = ""
    """Why it stopped, in words."""
    steps: int = 0
    """The number of its model's answers; 0 if they cannot be counted."""
    tool_calls: int = 0
    """The number of its tool calls."""
    tool_errors_recovered: int = 0
    """The number of failed tool calls before a successful one."""
    test_runs: int = 0
    """How often it ran tests."""


class UsageRecord(Schema):
    """The totals of the model calls; `cost_usd` is null, not 0, if no price is known."""

    requests: int = 0
    """The number of model calls."""
    input_tokens: int = 0
    """Tokens sent to the model, including cached ones."""
    output_tokens: int = 0
    """Tokens that the model wrote."""
    cached_tokens: int = 0
    """The input tokens that the provider had in its cache."""
    cost_usd: float | None = None
    """The cost in US dollars; null: no price is known."""
    llm_errors: dict[str, int] = Field(default_factory=dict)
    """The number of failed model calls by kind of error."""


class TimingRecord(Schema):
    """Durations in seconds; `overhead_s` is the total minus the other parts of it."""

    total_s: float
    """From the start of the attempt to its verdict."""
    agent_s: float = 0.0
    """Spent in the agent's commands."""
    tests_s: float = 0.0
    """Spent in the baseline run and the final test."""
    setup_s: float = 0.0
    """Spent in the task's set-up commands."""
    controls_s: float = 0.0
    """How long the verdict waited for control runs after the final test."""
    overhead_s: float = 0.0
    """The rest of the total: the harness and its sandboxes."""
    queue_wait_s: float = 0.0
    """How long the attempt waited before its start; not part of the total."""


class TaskStepRecord(Schema):
    """One step of a task with several instructions."""

    name: str
    """Its name in the task."""
    ran: bool = True
    """Whether it was reached."""
    rewards: dict[str, float] | None = None
    """The rewards of its verifier, by name; null: it has no result."""
    fault: str = ""
    """Why it has no result, in words."""
    shortfall: str = ""
    """Why its rewards end the remaining steps, in words."""
    agent: AgentEnding | None = None
    """How the agent stopped in it; null: no agent ran."""
    agent_detail: str = ""
    """Why the agent stopped, in words."""
    agent_s: float = 0.0
    """Seconds in the agent's commands."""
    verifier_s: float = 0.0
    """Seconds in the verifier's script."""
    user: UserName = AGENT_USER
    """The user that the agent runs as."""
    verifier_user: UserName | None = None
    """The user that the verifier runs as; null: the agent's."""
    verifier_environment: VerifierEnvironment
    """Whether the verifier has a fresh container or shares the agent's."""
    network: Network = False
    """The agent's network: none, public, or a list of hosts."""
    verifier_network: Network = False
    """The verifier's network: none, public, or a list of hosts."""
    evidence: str | None = None
    """The file with the evidence of its agent and verifier, relative to the attempt's folder."""


class EnvironmentRecord(Schema):
    """The environment that the attempt ran in."""

    sandbox: str
    """The name of the back end."""
    facts: dict[str, str] = Field(default_factory=dict)
    """The facts that the back end reports about itself, such as the engine's version."""
    lacks: tuple[str, ...] = ()
    """Promises that this back end does not keep on this machine."""
    image: str | None = None
    """The id of the container image; null: the back end has no images."""
    image_name: str | None = None
    """The name of the image; null: it comes from a Dockerfile, or there is none."""
    python: str | None = None
    """The version of Python; null: no test ran, and the image's name does not say it."""
    installers: tuple[str, ...] = ()
    """The versions of pip, setuptools and wheel in the base image, with the pip that the task
    names; empty: the image is not a base image."""
    snapshot: str | None = None
    """The snapshot of the prepared workspace; null: the preparation did not end."""
    cpus: float
    """The limit of cores."""
    memory_mib: int
    """The limit of memory, in MiB."""
    pids: int
    """The limit of processes and threads."""
    disk_mib: int
    """The limit of written data, in MiB."""
    files: int | None = None
    """The limit of files; null: a record from before files were counted."""
    network: dict[StageName, Network] | Literal["none for agent and tests"] = (
        "none for agent and tests"
    )
    """The network of each stage. The text is from before tasks could ask for one."""
    user: UserName = AGENT_USER
    """The user that the agent runs as."""
    runtime: str | None = None
    """The runtime of the container engine; null: its default."""
    verifier_user: UserName | None = None
    """The user that the verifier runs as; null: the agent's, or no script judges."""
    verifier_environment: VerifierEnvironment | None = None
    """The container of a script that judges; null: no script judges."""


class AttemptRecord(ChecksummedDocument):
    """One attempt of one agent at one task."""

    schema_version: Literal[1] = SCHEMA_VERSION
    """The version of this format; agentbench refuses newer ones."""
    run_id: RunId
    """The run that the attempt belongs to."""
    task_id: TaskId
    """The task."""
    attempt: int
    """The number of the attempt at this task in this run, from 1."""
    retry_of: int | None = None
    """How many tries of this attempt preceded this one; null: none."""
    agent: str
    """The name of the agent."""
    model: str | None = None
    """The model that the agent used; null: none, or the agent chose it itself."""
    task_digest: str
    """A digest of the task's files, which differs for a changed task."""
    started_at: datetime
    """When the attempt started, in UTC."""

    resolved: bool
    """Whether the agent resolved the task."""
    quarantined: bool
    """Whether a critical finding keeps the attempt from being resolved."""
    failure_reason: FailureReason | None
    """The primary reason why it is not resolved; null exactly if it is resolved."""
    fault: Fault | None
    """The cause of the failure: the agent, the task or the infrastructure; null: no failure."""
    detail: str = ""
    """The reason in words."""
    failures: tuple[Failure, ...] = ()
    """All failures that were found, including the primary one."""

    expected: ExpectedTests
    """The tests that decide."""
    stages: tuple[StageRecord, ...] = ()
    """The stages that were run, in order."""
    tests: tuple[CaseChange, ...] = ()
    """Each test in the baseline run and in the final test."""
    counts: ChangeCounts = ChangeCounts()
    """How many tests changed, and how."""
    rewards: dict[str, float] | None = None
    """The rewards of the task's own verifier script, by name; null: tests decide."""
    steps: tuple[TaskStepRecord, ...] = ()
    """The steps of a task with several instructions, in order."""
    findings: tuple[Finding, ...] = ()
    """The findings of the checks for tampering."""
    warnings: tuple[str, ...] = ()
    """Remarks about the attempt that do not affect its verdict."""
    controls: Controls | None = None
    """The control runs of the final test; null: there was no final test."""
    patch: PatchRecord | None = None
    """The agent's change; null: no change could be read."""
    agent_run: AgentRecord | None = None
    """The agent's work in numbers; null: it did not run, or left no result."""
    usage: UsageRecord | None = None
    """The model calls; null: they were not counted."""
    timing: TimingRecord
    """How the time was spent."""
    environment: EnvironmentRecord
    """The sandbox and its limits."""

    @property
    def tampered_paths(self) -> tuple[str, ...]:
        """The tests and their configuration that the agent changed, which were not judged."""
        dropped = self.patch.dropped if self.patch is not None else ()
        return tuple(each.path for each in dropped if each.tampers)

    def expected_node_ids(self) -> ExpectedTests:
        """The expected tests, with node ids in place of names that the runner printed."""
        return with_node_ids(self.expected, *(stage.evidence for stage in self.stages))


def rescore(record: AttemptRecord) -> AttemptRecord:
    """The record with the verdict of the current rules on its evidence."""
    return record.replace(**dict(rejudge(record)))


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
    return with_dropped_files(judge(record.expected, results), record.patch)


def with_dropped_files(verdict: Verdict, patch: PatchRecord | None) -> Verdict:
    """The verdict whose detail also names the files of the change that were not judged.

    A resolved attempt may well have tests of its own; a failed one may have failed by their loss.
    """
    usual = {BYTE_CODE, TEST_OF_TASK} if verdict.resolved else {BYTE_CODE}
    every = patch.dropped if patch is not None else ()
    dropped = [f"{one.path} ({one.why})" for one in every if one.why not in usual]
    if not dropped:
        return verdict
    parts = (verdict.detail, f"not judged: {list_with_more(dropped, _MAX_DROPPED)}")
    return verdict.replace(detail="; ".join(filter(None, parts)))
