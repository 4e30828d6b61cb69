"""Maps the evidence of one stage to at most one failure.

docs/failure_taxonomy.md explains the rules under "Decisions".
"""

import re
from typing import assert_never

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import (
    AgentEnding,
    CommandResult,
    Ending,
    Evidence,
    ExceptionFact,
    PytestOutcome,
    ReportFacts,
)
from agentbench.taxonomy import (
    AGENT_STAGES,
    TIMEOUT_EXIT_CODES,
    FailureReason,
    Fault,
    StageName,
)

_NETWORK_PHRASES = re.compile(
    r"could not resolve host"
    r"|temporary failure (?:in name resolution|resolving)"
    r"|name or service not known"
    r"|failed to establish a new connection"
    r"|connection (?:timed out|refused|reset by peer|broken)"
    r"|connect(?:ion)? to .{1,80} timed out"
    r"|network is unreachable"
    r"|no route to host"
    r"|read timed out"
    r"|remote end closed connection"
    r"|the remote end hung up unexpectedly"
    r"|operation timed out after"
    r"|tls connect error"
    r"|couldn'?t connect to server"
    r"|error sending request for url"
    r"|\b(?:ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b"
    r"|(?:error|status|code|HTTP):? (?:429|502|503|504)\b",
    re.IGNORECASE,
)
_SEARCHED_CHARACTERS = 64 * 1024  # the reason why a command stopped is near the end of its output
_REASON_OF_OUTCOME = {
    PytestOutcome.FAILED: FailureReason.TESTS_FAILED,
    PytestOutcome.NO_TESTS: FailureReason.NO_TESTS_COLLECTED,
    PytestOutcome.COLLECTION_ERROR: FailureReason.INTERNAL_ERROR,
    PytestOutcome.INTERRUPTED: FailureReason.INTERRUPTED,
    PytestOutcome.PYTEST_INTERNAL: FailureReason.INTERNAL_ERROR,
    PytestOutcome.USAGE: FailureReason.INTERNAL_ERROR,
    PytestOutcome.SPAWN: FailureReason.INTERNAL_ERROR,
    PytestOutcome.TIMEOUT: FailureReason.TIMEOUT,
}
_CUT_SHORT = frozenset({PytestOutcome.TIMEOUT, PytestOutcome.CRASH})
_TESTS_RAN = frozenset({PytestOutcome.FAILED, PytestOutcome.UNVERIFIED})
_WITHOUT_FAILURE = frozenset({PytestOutcome.PASSED, PytestOutcome.UNVERIFIED})
_FETCHES = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT})
_FETCH_REASONS = frozenset({FailureReason.GIT_CLONE_FAILED, FailureReason.GIT_CHECKOUT_FAILED})
_AGENT_ENDINGS = {
    AgentEnding.STEP_LIMIT: FailureReason.AGENT_GAVE_UP,
    AgentEnding.COST_LIMIT: FailureReason.AGENT_GAVE_UP,
    AgentEnding.TIME_LIMIT: FailureReason.TIMEOUT,
    AgentEnding.LLM_ERROR: FailureReason.LLM_ERROR,
    AgentEnding.TOOL_ERROR: FailureReason.TOOL_ERROR,
    AgentEnding.CRASHED: FailureReason.UNKNOWN,
    AgentEnding.INTERRUPTED: FailureReason.INTERRUPTED,
}
# A cancelled run reaches a stage as RunCancelled. If only the agent reports an interruption, its
# failure must not be retried for that.
AGENT_CRASHES = frozenset({AgentEnding.CRASHED, AgentEnding.INTERRUPTED})
"""The endings of an agent whose own program failed."""
# The harness's deadline outweighs these endings; other endings are more specific than a deadline.
_OUTWEIGHED_BY_DEADLINE = AGENT_CRASHES | {AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR}


class Failure(Schema):
    """One candidate for the primary reason of an attempt."""

    stage: StageName
    """The stage in which it happened."""
    reason: FailureReason
    """The reason by the taxonomy."""
    fault: Fault
    """The party that caused it."""
    detail: str
    """The reason in words."""
    terminal: bool = True
    """Whether it can be the primary reason; false: the attempt continued after it."""


def network_failure(text: str) -> str | None:
    """The phrase near the end of an output that reports a network failure; `None`: no phrase."""
    found = _NETWORK_PHRASES.search(text[-_SEARCHED_CHARACTERS:])
    return found.group(0) if found else None


def report_failure(command: CommandResult, report: ReportFacts) -> Failure | None:
    """The failure in the report of a final test; `None` if no test failed in a whole report.

    Code under test runs in the same process, so every failure there is the agent's fault.
    """
    outcome = _checked_outcome(command, report)
    if outcome is PytestOutcome.PASSED:
        return None
    if outcome in _TESTS_RAN and report.complete and not report.failed:
        return None  # a plugin set the exit code: `shortfall_of` says which test is lacking
    return Failure(
        stage=StageName.FINAL_TEST,
        reason=_report_reason(outcome, command.exit_code, report),
        fault=Fault.AGENT,
        detail=_report_detail(outcome, command, report),
    )


def collection_error_message(report: ReportFacts) -> str:
    """Why tests could not be collected: the first error, and the line that raised it."""
    more = len(report.collection_errors) - 1
    others = f" (and {more} more)" if more > 0 else ""
    if not report.collection_facts:
        file = next(iter(report.collection_errors), "an unnamed file")
        return f"Tests could not be collected: an error in {file}{others}"
    fact = report.collection_facts[0]
    line = f", line {fact.line}" if fact.line is not None else ""
    message = f": {fact.message}" if fact.message else ""
    where = f"{fact.path or fact.file}{line}"
    return f"Tests could not be collected: {fact.error or 'an error'} in {where}{message}{others}"


def last_line(command: CommandResult) -> str:
    """The last line of a command's output, in brackets; empty without output."""
    for text in (command.stderr, command.stdout):
        lines = text.strip().splitlines()
        if lines:
            return f" ({lines[-1].strip()[:200]})"
    return ""


def stated_error(command: CommandResult) -> str:
    """The line with which a test runner says why it ended; empty if there is none.

    It has pytest's forms, and is not the last line there: after a usage error pytest prints its
    rootdir, after an internal error a summary.
    """
    lines = [line.strip() for line in f"{command.stdout}\n{command.stderr}".splitlines()]
    internal = [line for line in lines if line.startswith("INTERNALERROR>")]
    usage = [line for line in lines if re.match(r"ERROR:? (?!usage: )|\S+: error: ", line)]
    return next((line[:200] for line in (*internal[-1:], *usage[:1])), "")


def error_line(command: CommandResult) -> str:
    """The line with which a test runner says why it ended, or its last one, in brackets."""
    stated = stated_error(command)
    return f" ({stated})" if stated else last_line(command)


# The report's outcome, unless the rest of the report contradicts it.
def _checked_outcome(command: CommandResult, report: ReportFacts) -> PytestOutcome:
    claimed = report.outcome
    if report.collection_errors and claimed not in _CUT_SHORT:
        return PytestOutcome.COLLECTION_ERROR
    found_tests = report.collected or report.passed or report.failed or report.cases
    if claimed in _WITHOUT_FAILURE and report.complete and not found_tests:
        return PytestOutcome.NO_TESTS
    if claimed is PytestOutcome.PASSED and not (report.complete and command.exit_code == 0):
        return PytestOutcome.UNVERIFIED
    if claimed is PytestOutcome.CRASH and report.complete:
        return PytestOutcome.UNVERIFIED  # every test had ended before
    return claimed


def _report_reason(outcome: PytestOutcome, code: int | None, report: ReportFacts) -> FailureReason:
    if outcome is PytestOutcome.CRASH:
        mapped = FailureReason.from_stage(StageName.FINAL_TEST, code or 0)
        return FailureReason.UNKNOWN if mapped is None else mapped
    if outcome is PytestOutcome.UNVERIFIED:
        return FailureReason.TESTS_FAILED if report.complete else FailureReason.INTERNAL_ERROR
    return _REASON_OF_OUTCOME[outcome]


def _report_detail(outcome: PytestOutcome, command: CommandResult, report: ReportFacts) -> str:
    code = command.exit_code
    details = {
        PytestOutcome.FAILED: f"{report.failed} of {report.collected} tests failed",
        PytestOutcome.NO_TESTS: "no tests were collected",
        PytestOutcome.COLLECTION_ERROR: collection_error_message(report),
        PytestOutcome.INTERRUPTED: "the test session was interrupted from within",
        PytestOutcome.UNVERIFIED: f"exit code {code} without a whole report behind it",
    }
    if outcome is PytestOutcome.UNVERIFIED and report.complete:
        return details[PytestOutcome.FAILED]
    if outcome is PytestOutcome.CRASH and code == 128 + 9:
        return "killed by SIGKILL, cause unknown"
    what = outcome.value.replace("_", " ")
    return details.get(outcome, f"{what}: exit code {code}{error_line(command)}")


def classify(stage: StageName, evidence: Evidence) -> Failure | None:
    """The failure in a stage's evidence; `None` if it shows no failure."""
    if evidence.exception is not None:
        return _from_exception(stage, evidence.exception)
    if evidence.agent is not None:
        return _from_agent(stage, evidence.agent, evidence)
    command = evidence.command
    if command is None:
        return None
    if evidence.rewards is not None and evidence.ran_to_end:
        # Only the reward counts, not the exit code of the script that wrote it.
        if stage is not StageName.FINAL_TEST or not evidence.rewards.fault:
            return None
        reason = FailureReason.INTERNAL_ERROR
        return Failure(stage=stage, reason=reason, fault=Fault.AGENT, detail=evidence.rewards.fault)
    if stage is StageName.FINAL_TEST and evidence.report is not None and evidence.ran_to_end:
        failure = report_failure(command, evidence.report)
        if failure is None or command.ending is not Ending.OUT_OF_MEMORY:
            return failure
    return _from_command(stage, command, evidence)


def exception_fact(stage: StageName, exception: BaseException) -> ExceptionFact:
    """The part of an exception from a stage that a verdict needs.

    `exception.fault` overrides the default fault if its class has that attribute.
    """
    reason = FailureReason.from_stage(stage, 1, exception)
    assert reason is not None  # an exception always has a reason
    declared = getattr(exception, "fault", None)  # of an agent's own class: a plain string too
    return ExceptionFact(
        type_name=type(exception).__name__,
        message=str(exception),
        reason=reason,
        fault=Fault(declared) if isinstance(declared, str) and declared in set(Fault) else None,
    )


def _from_exception(stage: StageName, fact: ExceptionFact) -> Failure:
    reason = fact.reason
    if fact.fault is not None:
        fault = fact.fault
    elif stage in AGENT_STAGES and reason in _FETCH_REASONS | {FailureReason.UNKNOWN}:
        fault = Fault.AGENT  # raised by the agent's own code, or caused by its changes
    elif reason in _FETCH_REASONS and network_failure(fact.message):
        fault = Fault.INFRASTRUCTURE
    else:
        fault = reason.fault
    # In tables and lines, ends of lines would be escapes.
    detail = " ".join(fact.text.split())
    detail += f" ({fact.where})" if fact.where else ""
    return Failure(stage=stage, reason=reason, fault=fault, detail=detail)


def _from_agent(stage: StageName, ending: AgentEnding, evidence: Evidence) -> Failure | None:
    if evidence.command is not None and _outweighs(evidence.command, ending, evidence):
        return _from_command(stage, evidence.command, evidence)
    reason = _agent_reason(ending, evidence.command)
    if reason is None:
        return None
    default = Fault.AGENT if ending in AGENT_CRASHES else reason.fault
    detail = evidence.agent_detail or f"the agent reports: {ending.value.replace('_', ' ')}"
    return Failure(stage=stage, reason=reason, fault=evidence.agent_fault or default, detail=detail)


# Whether the end of the agent's command outweighs the ending that the agent reports.
def _outweighs(command: CommandResult, ending: AgentEnding, evidence: Evidence) -> bool:
    if command.ending is Ending.TIMED_OUT:
        return ending in _OUTWEIGHED_BY_DEADLINE
    out_of_memory = command.ending is Ending.OUT_OF_MEMORY and not evidence.ran_to_end
    return out_of_memory or command.ending in {Ending.OUT_OF_DISK, Ending.LOST}


def _agent_reason(ending: AgentEnding, command: CommandResult | None) -> FailureReason | None:
    if ending is AgentEnding.SUBMITTED:
        return None
    if ending is AgentEnding.TOOL_ERROR and command and _exit_code(command) in TIMEOUT_EXIT_CODES:
        return FailureReason.TIMEOUT  # GNU timeout inside the agent, or a kill
    return _AGENT_ENDINGS[ending]


def _from_command(stage: StageName, command: CommandResult, evidence: Evidence) -> Failure | None:
    match command.ending:
        case Ending.TIMED_OUT:
            reason = FailureReason.from_stage(stage, 124)
            seconds = (command.timeout or command.duration).total_seconds()
            detail = f"still running after {round(seconds, 1):g} s: {_shortened_command(command)}"
        case Ending.OUT_OF_MEMORY:
            reason, detail = _from_lack_of_memory(stage, command, evidence)
        case Ending.OUT_OF_DISK:
            limit = f" (limit {command.exceeded})" if command.exceeded else ""
            reason, detail = FailureReason.SANDBOX_ERROR, f"out of disk{limit}"
        case Ending.LOST:
            reason, detail = FailureReason.SANDBOX_ERROR, "the sandbox or its engine went away"
        case Ending.KILLED:
            reason = FailureReason.from_stage(stage, _exit_code(command))
            detail = _kill_message(command)
        case Ending.EXITED:
            is_before = evidence.failed_before_tests
            reason, detail = (_from_before_tests if is_before else _from_exit)(stage, command)
        case _:  # pragma: no cover
            assert_never(command.ending)
    if reason is None:
        return None
    return Failure(stage=stage, reason=reason, fault=_fault(stage, reason, command), detail=detail)


# A command of `[tests] before` failed, so that no test ran. A task needs a failing baseline, but
# its tests have to run in it.
def _from_before_tests(
    stage: StageName, command: CommandResult
) -> tuple[FailureReason | None, str]:
    is_final = stage is StageName.FINAL_TEST
    reason = FailureReason.TESTS_FAILED if is_final else FailureReason.SETUP_FAILED
    detail = f"the command before the tests exited {command.exit_code}: "
    return reason, f"{detail}{_shortened_command(command)}{last_line(command)}"


def _from_exit(stage: StageName, command: CommandResult) -> tuple[FailureReason | None, str]:
    code = _exit_code(command)
    reason = FailureReason.from_stage(stage, code)
    if stage is StageName.FINAL_TEST and reason is None:
        return FailureReason.INTERNAL_ERROR, "the test run exited 0 but left no report"
    if reason is FailureReason.BASELINE_NOT_FAILING:
        return reason, "the tests pass before any fix"
    # A 137 from neither our deadline nor the kernel's OOM killer has an unknown cause (decision 2).
    if code == 137:
        return reason, "killed by SIGKILL, cause unknown"
    return reason, f"exit code {code}: {_shortened_command(command)}{last_line(command)}"


def _from_lack_of_memory(
    stage: StageName, command: CommandResult, evidence: Evidence
) -> tuple[FailureReason | None, str]:
    if evidence.ran_to_end and stage is not StageName.FINAL_TEST:
        return _from_exit(stage, command)
    limit = evidence.memory_limit_mib
    detail = f"out of memory (limit {limit} MiB)" if limit is not None else "out of memory"
    return FailureReason.SANDBOX_ERROR, detail


# The exit code that a shell would show; 128 if the signal is unknown.
def _exit_code(command: CommandResult) -> int:
    if command.ending is Ending.KILLED:
        return 128 + command.signal if command.signal else command.exit_code or 128
    return 1 if command.exit_code is None else command.exit_code


# The party to blame for a command's end; not the infrastructure if an agent could cause it.
def _fault(stage: StageName, reason: FailureReason, command: CommandResult) -> Fault:
    if command.ending is Ending.LOST:
        return Fault.INFRASTRUCTURE
    if stage in AGENT_STAGES:
        return Fault.AGENT
    if stage in _FETCHES and reason is FailureReason.TIMEOUT:
        return Fault.INFRASTRUCTURE
    dead = command.ending in {Ending.OUT_OF_MEMORY, Ending.OUT_OF_DISK, Ending.KILLED}
    if dead or stage is StageName.BASELINE_RUN:
        return Fault.TASK
    network = network_failure(command.stderr) or network_failure(command.stdout)
    return Fault.INFRASTRUCTURE if network else Fault.TASK


def _kill_message(command: CommandResult) -> str:
    code = _exit_code(command)
    if code == 128 + 9:
        return "killed by SIGKILL, cause unknown"
    which = f"signal {code - 128}" if code > 128 else "an unknown signal"
    return f"killed by {which}: {_shortened_command(command)}"


def _shortened_command(command: CommandResult) -> str:
    text = " ".join(command.argv)
    return text if len(text) <= 120 else f"{text[:117]}..."
