"""The facts that stages return: how a command or an agent ended, what a test runner reported.

Nothing here judges. `classify` and `judge` read only these values.
"""

import operator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType, assert_never

from pydantic import Field

from agentbench.core.schema import Schema
from agentbench.taxonomy import FailureReason, Fault, StageName

DECIDING = "reward"
"""The name of the reward that decides if a script writes several."""
NodeId = NewType("NodeId", str)
"""The id of a test, `tests/test_a.py::test_b[x]`; `scoring.node_ids` says more."""


class Ending(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"  # at the harness's deadline
    OUT_OF_MEMORY = "out_of_memory"  # the kernel's OOM killer killed one of its processes
    OUT_OF_DISK = "out_of_disk"  # the harness killed it, since its sandbox exceeded the disk limit
    KILLED = "killed"  # a signal killed it for another reason
    LOST = "lost"  # unknown: the engine or the sandbox went away


class CommandResult(Schema):
    """How one command in a sandbox ended, and its output."""

    argv: tuple[str, ...]
    """The program and its arguments."""
    ending: Ending
    """How it ended."""
    exit_code: int | None = None
    """Its exit code; null: it did not exit by itself."""
    signal: int | None = None
    """The signal that ended it, if one did."""
    exceeded: str = ""
    """The limit that ended it, in words: '4096 MiB', '300000 files'."""
    duration: timedelta
    """How long it ran, in seconds."""
    timeout: timedelta | None = None
    """Its time limit in seconds, if that was exceeded."""
    stdout: str = ""
    """The output, without its middle if it was truncated."""
    stderr: str = ""
    """The output on the second stream, likewise."""
    truncated: bool = False
    """Whether the middle of a stream was omitted."""
    output_bytes: int = 0
    """The size of both streams before they were truncated."""
    peak_memory_bytes: int | None = None
    """The peak of its memory use; null: not measured."""
    cpu_seconds: float | None = None
    """Its processor time; null: not measured."""

    @property
    def ok(self) -> bool:
        """Whether the command ran to its end and exited 0."""
        return self.ending is Ending.EXITED and self.exit_code == 0


class CaseOutcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # its set-up or teardown failed
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    UNFINISHED = "unfinished"  # the run died or was stopped during the test


FAILING_OUTCOMES = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR, CaseOutcome.UNFINISHED})
"""The outcomes of a test that failed."""


class ReportSource(StrEnum):
    """The source of the facts about a test run, the most trusted one first."""

    STREAM = "stream"
    JSON_REPORT = "json_report"
    JUNIT = "junit"
    TEXT = "text"
    EXIT_CODE = "exit_code"


class ReportTrust(StrEnum):
    """The origin of a report, which `scoring.trust` says how far to trust."""

    IN_PROCESS_STREAM = "in_process_stream"  # agentbench's own reporter saw each phase of a test
    EXTERNAL_REPORT = "external_report"  # a file that a program wrote


class PytestOutcome(StrEnum):
    """How a whole test run ended, by its report as well as its exit code."""

    PASSED = "passed"
    FAILED = "failed"
    NO_TESTS = "no_tests"
    COLLECTION_ERROR = "collection_error"
    INTERRUPTED = "interrupted"
    PYTEST_INTERNAL = "pytest_internal"
    USAGE = "usage"
    TIMEOUT = "timeout"
    CRASH = "crash"
    UNVERIFIED = "unverified"  # there is no report, or it contradicts the exit code
    SPAWN = "spawn"  # the test runner could not be started


class CaseFact(Schema):
    """One test of a run. `phases` counts its reports of setup, call and teardown, in this order."""

    node_id: NodeId
    """The test."""
    outcome: CaseOutcome
    """How it ended."""
    phases: tuple[int, int, int] = (1, 1, 1)
    """The number of its reports of setup, call and teardown."""
    duration: float = 0.0
    """How long it took, in seconds."""
    names: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """How its runner prints it, where that is not its id: unittest's class and method."""

    def has_name(self, name: str) -> bool:
        """Whether a runner of any version prints the test with this name.

        Python 3.11 and newer print `test_x (module.Class.test_x)`, older ones `(module.Class)`.
        """
        method, _, rest = name.partition(" (")
        older = name.replace(f".{method})", ")") if rest.endswith(f".{method})") else name
        return bool({name, older}.intersection(self.names))


class ScriptTest(Schema):
    """One test in the report of a task's own script."""

    node_id: NodeId
    """The test, as the report names it."""
    outcome: CaseOutcome
    """How it ended, as the report says."""
    message: str = ""
    """Why it failed."""


class RewardFacts(Schema):
    """The rewards that a verifier wrote, read after all of its processes had ended."""

    rewards: dict[str, float] = Field(default_factory=dict)
    """The rewards by name; a script that writes a number names it `reward`."""
    fault: str = ""
    """Why there are no rewards, in words."""
    unfinished: str = Field(default="", exclude_if=operator.not_)
    """Why later steps of the task were not run, in words."""
    tests: tuple[ScriptTest, ...] = Field(default=(), exclude_if=operator.not_)
    """The tests in the script's own report, if it wrote one. They explain the rewards and decide
    nothing."""


def reward_shortfall(facts: RewardFacts | None, above: float) -> str | None:
    """Why the task does not count as resolved; None: it counts."""
    if facts is None or facts.fault or not facts.rewards:
        return (facts.fault if facts is not None else "") or "the verifier left no reward"
    if facts.unfinished:
        return facts.unfinished
    rewards = facts.rewards
    # Without a deciding reward each must be high enough, so the lowest one decides.
    name = DECIDING if DECIDING in rewards else min(rewards, key=lambda each: rewards[each])
    if rewards[name] > above:
        return None
    return f"{name} {rewards[name]:g} is not above {above:g}"


class CollectionFact(Schema):
    """A file that could not be collected, and the line of the project that caused it."""

    file: str
    """The file that was being collected."""
    error: str = ""
    """The class of the exception."""
    path: str = ""
    """The file that raised it, or whose syntax is wrong; empty: unknown."""
    line: int | None = None
    """The line in that file; null: unknown."""
    message: str = ""
    """The message of the exception."""


class ReportFacts(Schema):
    """The part of a test run's report that a verdict needs."""

    outcome: PytestOutcome
    """How the whole run ended."""
    source: ReportSource
    """Where these facts come from."""
    trust: ReportTrust = Field(
        default=ReportTrust.IN_PROCESS_STREAM,
        exclude_if=lambda trust: trust is ReportTrust.IN_PROCESS_STREAM,
    )
    """The trust that a report of this runner deserves."""
    complete: bool
    """Whether a session-finish record was written."""
    collected: int = 0
    """The number of collected tests."""
    passed: int = 0
    """The number of tests that passed."""
    failed: int = 0
    """The number of tests that failed, or whose setup or teardown did."""
    cases: tuple[CaseFact, ...] = ()
    """Each test."""
    collection_errors: tuple[str, ...] = ()
    """The files that could not be collected, in the runner's order."""
    collection_facts: tuple[CollectionFact, ...] = ()
    """Why each of them could not be collected; missing in old records."""
    internals_changed: tuple[str, ...] = ()
    """Functions of the test runner that the run replaced."""
    python: str | None = None
    """The version of Python that ran it; null: the reporter did not get that far."""


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
    """How serious a finding is; one critical finding quarantines an attempt."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Finding(Schema):
    """An observation about the integrity of an attempt."""

    rule: str
    """The name of the rule that found it."""
    severity: Severity
    """How serious it is."""
    where: str
    """The place: a file, a test or a run."""
    what: str
    """The observation in words."""


class ExceptionFact(Schema):
    """The part of an exception from a stage that a verdict needs."""

    type_name: str
    """The class of the exception; empty for agentbench's own, whose messages say all."""
    message: str
    """Its message."""
    reason: FailureReason
    """Its failure reason."""
    fault: Fault | None = None
    """The party that caused it, if not the default party of the reason."""
    where: str = ""
    """For an agent in Python: the file and line of its own code."""
    traceback: str = ""
    """For an agent in Python: its traceback."""


class Evidence(Schema):
    """Everything that one stage returns to be judged."""

    command: CommandResult | None = None
    """The result of the command that decided the stage."""
    report: ReportFacts | None = None
    """The report of the test runner."""
    rewards: RewardFacts | None = None
    """The rewards that the task's own verifier script wrote."""
    agent: AgentEnding | None = None
    """How the agent stopped."""
    agent_detail: str = ""
    """Why the agent stopped, in words."""
    agent_fault: Fault | None = None
    """The party that caused its failure, if not the default: for a model's refusal, the agent."""
    exception: ExceptionFact | None = None
    """The exception that the harness or the agent raised."""
    memory_limit_mib: int | None = None
    """The limit of memory under which it ran, in MiB."""
    failed_before_tests: bool = Field(default=False, exclude_if=operator.not_)
    """Whether `command` is one of `[tests] before` that failed, so that no test was run."""
    own_seconds: float = 0.0
    """Seconds in the commands of the task or the agent, not in the harness."""
    findings: tuple[Finding, ...] = ()
    """The findings of the checks for tampering."""
    warnings: tuple[str, ...] = ()
    """Remarks that do not affect the verdict."""

    @property
    def ran_to_end(self) -> bool:
        """Whether the command exited by itself, even if the OOM killer killed a child of it.

        A parent that lost a child counts if it exited 0, or 1 with a complete report. A process
        that a signal killed after a complete report crashed in its own exit, after every test.
        """
        if self.command is None:
            return False
        whole = self.report is not None and self.report.complete
        match self.command.ending:
            case Ending.EXITED:
                return True
            case Ending.OUT_OF_MEMORY:
                return self.command.exit_code == 0 or (whole and self.command.exit_code == 1)
            case Ending.KILLED:
                return whole
            case Ending.TIMED_OUT | Ending.OUT_OF_DISK | Ending.LOST:
                return False
        assert_never(self.command.ending)


class StageResult(Schema):
    """One stage of one attempt: its evidence and when it ran."""

    stage: StageName
    evidence: Evidence
    started_at: datetime
    duration: timedelta
    cached: bool = False  # taken from an earlier attempt's snapshot
