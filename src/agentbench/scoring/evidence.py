"""The facts that stages return: how a command ended, what pytest showed, how an agent stopped.

Nothing here judges. `classify` and `judge` read these values and nothing else.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType

from pydantic import Field

from agentbench.core.schema import Schema
from agentbench.scoring.taxonomy import Fault, StageName

DECIDING = "reward"
"""The name of the reward that decides where a script gives several."""


class RewardFacts(Schema):
    """The rewards that a verifier left, as they were read when nothing of it ran any more."""

    rewards: dict[str, float] = Field(default_factory=dict)
    fault: str = Field(default="", description="why there are none, in words")


def reward_shortfall(facts: RewardFacts | None, above: float) -> str | None:
    """What is missing for the task to count as resolved; None: nothing is."""
    if facts is None or facts.fault or not facts.rewards:
        return (facts.fault if facts is not None else "") or "the verifier left no reward"
    name, value = _deciding_reward(facts.rewards)
    if value > above:
        return None
    return f"{name} {value:g} is not above {above:g}"


def _deciding_reward(rewards: Mapping[str, float]) -> tuple[str, float]:
    """`reward` where it is among them, else the least of all: then each has to be enough."""
    name = DECIDING if DECIDING in rewards else min(rewards, key=lambda each: rewards[each])
    return name, rewards[name]


NodeId = NewType("NodeId", str)
"""A pytest node id, as pytest prints it: `tests/test_a.py::test_b[x]`."""


class Ending(StrEnum):
    """How a command came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"  # our own deadline fired
    OUT_OF_MEMORY = "out_of_memory"  # the kernel's OOM killer took a process of it
    OUT_OF_DISK = "out_of_disk"  # we killed it: its sandbox held more than it may
    KILLED = "killed"  # a signal that was neither of these
    LOST = "lost"  # the engine or the sandbox went away: nobody knows


class CommandResult(Schema):
    """How one command in a sandbox ended, and what it said."""

    argv: tuple[str, ...]
    ending: Ending
    exit_code: int | None = None
    signal: int | None = None
    exceeded: str = Field(
        default="", description="the limit that ended it, in words: '4096 MiB', '300000 files'"
    )
    duration: timedelta
    timeout: timedelta | None = Field(
        default=None, description="what it was given, if that ran out"
    )
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    output_bytes: int = 0  # of both streams, before the cap
    peak_memory_bytes: int | None = None
    cpu_seconds: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the command ran to its end and exited 0."""
        return self.ending is Ending.EXITED and self.exit_code == 0


class CaseOutcome(StrEnum):
    """What became of one test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # its set-up or teardown failed
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    UNFINISHED = "unfinished"  # begun, and the run died or was cut off in it


class ReportSource(StrEnum):
    """Where the knowledge about a pytest run came from, most trusted first."""

    STREAM = "stream"
    JSON_REPORT = "json_report"
    JUNIT = "junit"
    TEXT = "text"
    EXIT_CODE = "exit_code"


class PytestOutcome(StrEnum):
    """What a whole pytest run came to, by evidence and not by its exit code alone."""

    PASSED = "passed"
    FAILED = "failed"
    NO_TESTS = "no_tests"
    COLLECTION_ERROR = "collection_error"
    INTERRUPTED = "interrupted"
    PYTEST_INTERNAL = "pytest_internal"
    USAGE = "usage"
    TIMEOUT = "timeout"
    CRASH = "crash"
    UNVERIFIED = "unverified"  # the exit code and the report do not agree, or there is no report
    SPAWN = "spawn"  # no interpreter, or no pytest in it


class CaseFact(Schema):
    """One test of a run. `phases` counts reports of setup, call and teardown, in this order."""

    node_id: NodeId
    outcome: CaseOutcome
    phases: tuple[int, int, int] = (1, 1, 1)
    duration: float = 0.0  # seconds


class CollectionFact(Schema):
    """A file that could not be collected, and the line of the project that is to blame."""

    file: str  # the one that pytest was collecting
    error: str = ""  # the exception's class
    path: str = ""  # where it was raised, or the syntax is wrong; empty: unknown
    line: int | None = None
    message: str = ""


class ReportFacts(Schema):
    """What a pytest run showed, reduced to what a judgement needs."""

    outcome: PytestOutcome
    source: ReportSource
    complete: bool  # a session-finish record was written
    collected: int = 0
    passed: int = 0
    failed: int = 0  # failed and errored
    cases: tuple[CaseFact, ...] = ()
    collection_errors: tuple[str, ...] = ()  # the files, first one first
    collection_facts: tuple[CollectionFact, ...] = ()  # one for each; none in old records
    internals_changed: tuple[str, ...] = ()  # pytest functions that are not what they were
    python: str | None = None  # the version that ran it, as far as the reporter got to say it


class AgentEnding(StrEnum):
    """How an agent stopped."""

    SUBMITTED = "submitted"
    STEP_LIMIT = "step_limit"
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    LLM_ERROR = "llm_error"
    TOOL_ERROR = "tool_error"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"


class Severity(StrEnum):
    """How much a finding weighs; one critical finding quarantines an attempt."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Finding(Schema):
    """Something about an attempt that a reader should know (integrity)."""

    rule: str
    severity: Severity
    where: str
    what: str


class ExceptionFact(Schema):
    """An exception that escaped from a stage, as far as a judgement needs it."""

    type_name: str
    message: str
    reason: str  # the code of the FailureReason that the pure mapping gives it
    fault: str | None = None  # overrides the reason's default fault
    where: str = ""  # of an agent's: the file and line of its own code
    traceback: str = ""  # of an agent's


class Evidence(Schema):
    """All that one stage brings back."""

    command: CommandResult | None = None  # the command that decided the stage
    report: ReportFacts | None = None
    rewards: RewardFacts | None = None  # of a task that a script of its own judges
    agent: AgentEnding | None = None
    agent_detail: str = ""
    agent_fault: Fault | None = None  # overrides the default: a model's refusal is the agent's
    exception: ExceptionFact | None = None
    memory_limit_mib: int | None = None
    own_seconds: float = 0.0  # spent in the task's or the agent's own commands, not in ours
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ran_to_end(self) -> bool:
        """Whether the command exited by itself, even if the OOM killer took a child of it.

        A parent that lost a child is believed when it exited 0, or 1 with a whole report.
        """
        if self.command is None or self.command.ending is not Ending.OUT_OF_MEMORY:
            return self.command is not None and self.command.ending is Ending.EXITED
        whole = self.report is not None and self.report.complete
        return self.command.exit_code == 0 or (whole and self.command.exit_code == 1)


class StageResult(Schema):
    """One stage of one attempt: its evidence and when it ran."""

    stage: StageName
    evidence: Evidence
    started_at: datetime
    duration: timedelta
    cached: bool = Field(default=False, description="taken from an earlier attempt's snapshot")
