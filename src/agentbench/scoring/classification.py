"""One stage's evidence to at most one failure: the evidence first, then the pure mapping.

The decisions are those of docs/failure_taxonomy.md, "Decisions".
"""

from typing import assert_never

from agentbench.scoring.evidence import (
    AgentEnding,
    CommandResult,
    Ending,
    Evidence,
    ExceptionFact,
    StageName,
)
from agentbench.scoring.failure import Failure
from agentbench.scoring.network_failure import network_failure
from agentbench.scoring.report_failure import last_line, report_failure
from agentbench.scoring.taxonomy import FailureReason, Fault

_AGENTS_OWN = frozenset({StageName.AGENT_RUN, StageName.FINAL_TEST})
_FETCHES = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT})
_MAPPED_TIMEOUTS = frozenset({124, 137})
_AGENT_ENDINGS = {
    AgentEnding.STEP_LIMIT: FailureReason.AGENT_GAVE_UP,
    AgentEnding.COST_LIMIT: FailureReason.AGENT_GAVE_UP,
    AgentEnding.TIME_LIMIT: FailureReason.TIMEOUT,
    AgentEnding.LLM_ERROR: FailureReason.LLM_ERROR,
    AgentEnding.TOOL_ERROR: FailureReason.TOOL_ERROR,
    AgentEnding.CRASHED: FailureReason.UNKNOWN,
    AgentEnding.INTERRUPTED: FailureReason.INTERRUPTED,
}


def classify(stage: StageName, evidence: Evidence) -> Failure | None:
    """The failure that a stage's evidence shows; `None` when it shows none."""
    if evidence.exception is not None:
        return _from_exception(stage, evidence.exception)
    if evidence.agent is not None:
        return _from_agent(stage, evidence.agent, evidence)
    if evidence.command is None:
        return None
    ran = evidence.command.ending is Ending.EXITED
    if stage is StageName.FINAL_TEST and evidence.report is not None and ran:
        return report_failure(evidence.command, evidence.report)
    return _from_command(stage, evidence.command, evidence)


def exception_fact(stage: StageName, exception: BaseException) -> ExceptionFact:
    """What a judgement needs of an exception that escaped from a stage.

    `exception.fault` overrides the default fault, where an error class carries one.
    """
    reason = FailureReason.from_stage(stage, 1, exception)
    assert reason is not None  # an exception always gives one
    carried = getattr(exception, "fault", None)
    return ExceptionFact(
        type_name=type(exception).__name__,
        message=str(exception),
        reason=reason.value,
        fault=carried if carried in set(Fault) else None,
    )


def _from_exception(stage: StageName, fact: ExceptionFact) -> Failure:
    reason = FailureReason(fact.reason)
    fault = Fault(fact.fault) if fact.fault is not None else reason.fault
    if fact.fault is None:
        if reason in {FailureReason.GIT_CLONE_FAILED, FailureReason.GIT_CHECKOUT_FAILED}:
            fault = Fault.INFRASTRUCTURE if network_failure(fact.message) else Fault.TASK
        elif reason is FailureReason.UNKNOWN and stage is StageName.AGENT_RUN:
            fault = Fault.AGENT  # the agent's own code raised it
    detail = f"{fact.type_name}: {fact.message}" if fact.message else fact.type_name
    return Failure(stage=stage, reason=reason, fault=fault, detail=detail)


def _from_agent(stage: StageName, ending: AgentEnding, evidence: Evidence) -> Failure | None:
    command = evidence.command
    if command is not None and command.ending in {Ending.OUT_OF_MEMORY, Ending.LOST}:
        return _from_command(stage, command, evidence)
    reason = _agent_reason(ending, command)
    if reason is None:
        return None
    fault = Fault.AGENT if ending is AgentEnding.CRASHED else reason.fault
    detail = evidence.agent_detail or f"the agent ended in {ending.value}"
    return Failure(stage=stage, reason=reason, fault=fault, detail=detail)


def _agent_reason(ending: AgentEnding, command: CommandResult | None) -> FailureReason | None:
    if ending is AgentEnding.SUBMITTED:
        return None
    if ending is AgentEnding.TOOL_ERROR and command and command.exit_code in _MAPPED_TIMEOUTS:
        return FailureReason.TIMEOUT  # GNU timeout inside the agent, or a kill
    return _AGENT_ENDINGS[ending]


def _from_command(stage: StageName, command: CommandResult, evidence: Evidence) -> Failure | None:
    match command.ending:
        case Ending.TIMED_OUT:
            reason = FailureReason.from_stage(stage, 124)
            detail = (
                f"still running after {command.duration.total_seconds():.0f} s: {_shown(command)}"
            )
        case Ending.OUT_OF_MEMORY:
            reason, detail = FailureReason.SANDBOX_ERROR, _out_of_memory(evidence)
        case Ending.LOST:
            reason, detail = FailureReason.SANDBOX_ERROR, "the sandbox or its engine went away"
        case Ending.KILLED:
            reason = FailureReason.from_stage(stage, 128 + (command.signal or 0))
            detail = _killed(command)
        case Ending.EXITED:
            code = 1 if command.exit_code is None else command.exit_code
            reason, detail = _from_exit(stage, code, command)
        case _:  # pragma: no cover
            assert_never(command.ending)
    if reason is None:
        return None
    return Failure(stage=stage, reason=reason, fault=_fault(stage, reason, command), detail=detail)


def _from_exit(
    stage: StageName, code: int, command: CommandResult
) -> tuple[FailureReason | None, str]:
    reason = FailureReason.from_stage(stage, code)
    if stage is StageName.FINAL_TEST and reason is None:
        return FailureReason.INTERNAL_ERROR, "pytest exited 0 but left no report"
    if reason is FailureReason.BASELINE_NOT_FAILING:
        return reason, "the tests pass before any fix"
    if code == 137:
        return reason, "killed by SIGKILL, cause unknown"
    return reason, f"exit code {code}: {_shown(command)}{last_line(command)}"


def _fault(stage: StageName, reason: FailureReason, command: CommandResult) -> Fault:
    """Whose fault a command's end is: what an agent can cause is never infrastructure's."""
    if command.ending is Ending.LOST:
        return Fault.INFRASTRUCTURE
    if stage in _AGENTS_OWN:
        return Fault.AGENT
    if stage in _FETCHES and command.ending is Ending.TIMED_OUT:
        return Fault.INFRASTRUCTURE
    if stage is StageName.BASELINE_RUN or command.ending is not Ending.EXITED:
        return Fault.TASK
    if network_failure(command.stderr) or network_failure(command.stdout):
        return Fault.INFRASTRUCTURE
    return Fault.TASK if reason.fault is Fault.AGENT else reason.fault


def _out_of_memory(evidence: Evidence) -> str:
    limit = evidence.memory_limit_mib
    return f"out of memory (limit {limit} MiB)" if limit is not None else "out of memory"


def _killed(command: CommandResult) -> str:
    if command.signal == 9:
        return "killed by SIGKILL, cause unknown"
    return f"killed by signal {command.signal}: {_shown(command)}"


def _shown(command: CommandResult) -> str:
    text = " ".join(command.argv)
    return text if len(text) <= 120 else f"{text[:117]}..."
