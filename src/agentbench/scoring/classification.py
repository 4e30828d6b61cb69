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
from agentbench.scoring.reward import RewardFacts
from agentbench.scoring.taxonomy import FailureReason, Fault

_AGENTS_OWN = frozenset({StageName.AGENT_RUN, StageName.FINAL_TEST})
_FETCHES = frozenset({StageName.GIT_CLONE, StageName.GIT_CHECKOUT})
_FETCH_REASONS = frozenset({FailureReason.GIT_CLONE_FAILED, FailureReason.GIT_CHECKOUT_FAILED})
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
# Our own SIGINT reaches a stage as KeyboardInterrupt; an agent that merely says it was
# interrupted may not have its failure retried for that.
_NEVER_INFRASTRUCTURE = frozenset({AgentEnding.CRASHED, AgentEnding.INTERRUPTED})
# What an agent said last counts for less than our own deadline, unless it says more.
_OUTWEIGHED_BY_DEADLINE = _NEVER_INFRASTRUCTURE | {AgentEnding.SUBMITTED, AgentEnding.TOOL_ERROR}


def classify(stage: StageName, evidence: Evidence) -> Failure | None:
    """The failure that a stage's evidence shows; `None` when it shows none."""
    if evidence.exception is not None:
        return _from_exception(stage, evidence.exception)
    if evidence.agent is not None:
        return _from_agent(stage, evidence.agent, evidence)
    command = evidence.command
    if command is None:
        return None
    if evidence.rewards is not None and evidence.ran_to_end:
        return _from_rewards(stage, evidence.rewards)
    if stage is StageName.FINAL_TEST and evidence.report is not None and evidence.ran_to_end:
        failure = report_failure(command, evidence.report)
        if failure is None or command.ending is Ending.EXITED:
            return failure
    return _from_command(stage, command, evidence)


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
        fault=carried if isinstance(carried, str) and carried in set(Fault) else None,
    )


def _from_exception(stage: StageName, fact: ExceptionFact) -> Failure:
    reason = FailureReason(fact.reason)
    if fact.fault is not None:
        fault = Fault(fact.fault)
    elif stage in _AGENTS_OWN and reason in _FETCH_REASONS | {FailureReason.UNKNOWN}:
        fault = Fault.AGENT  # raised by the agent's own code, or by what it left behind
    elif reason in _FETCH_REASONS and network_failure(fact.message):
        fault = Fault.INFRASTRUCTURE
    else:
        fault = reason.fault
    detail = f"{fact.type_name}: {fact.message}" if fact.message else fact.type_name
    detail += f" ({fact.where})" if fact.where else ""
    return Failure(stage=stage, reason=reason, fault=fault, detail=detail)


def _from_agent(stage: StageName, ending: AgentEnding, evidence: Evidence) -> Failure | None:
    if evidence.command is not None and _outweighs(evidence.command, ending, evidence):
        return _from_command(stage, evidence.command, evidence)
    reason = _agent_reason(ending, evidence.command)
    if reason is None:
        return None
    default = Fault.AGENT if ending in _NEVER_INFRASTRUCTURE else reason.fault
    detail = evidence.agent_detail or f"the agent ended in {ending.value}"
    return Failure(stage=stage, reason=reason, fault=evidence.agent_fault or default, detail=detail)


def _outweighs(command: CommandResult, ending: AgentEnding, evidence: Evidence) -> bool:
    """Whether the end of the agent's command says more than how the agent says it stopped."""
    if command.ending is Ending.TIMED_OUT:
        return ending in _OUTWEIGHED_BY_DEADLINE
    out_of_memory = command.ending is Ending.OUT_OF_MEMORY and not evidence.ran_to_end
    return out_of_memory or command.ending in {Ending.OUT_OF_DISK, Ending.LOST}


def _agent_reason(ending: AgentEnding, command: CommandResult | None) -> FailureReason | None:
    if ending is AgentEnding.SUBMITTED:
        return None
    if ending is AgentEnding.TOOL_ERROR and command and _exit_code(command) in _MAPPED_TIMEOUTS:
        return FailureReason.TIMEOUT  # GNU timeout inside the agent, or a kill
    return _AGENT_ENDINGS[ending]


def _from_rewards(stage: StageName, facts: RewardFacts) -> Failure | None:
    """A script's exit code says nothing: the reward does, and whether there is one."""
    if stage is not StageName.FINAL_TEST or not facts.fault:
        return None
    reason = FailureReason.INTERNAL_ERROR
    return Failure(stage=stage, reason=reason, fault=Fault.AGENT, detail=facts.fault)


def _from_command(stage: StageName, command: CommandResult, evidence: Evidence) -> Failure | None:
    match command.ending:
        case Ending.TIMED_OUT:
            reason = FailureReason.from_stage(stage, 124)
            seconds = (command.timeout or command.duration).total_seconds()
            detail = f"still running after {round(seconds, 1):g} s: {_shown(command)}"
        case Ending.OUT_OF_MEMORY:
            reason, detail = _from_lack_of_memory(stage, command, evidence)
        case Ending.OUT_OF_DISK:
            limit = f" (limit {command.exceeded})" if command.exceeded else ""
            reason, detail = FailureReason.SANDBOX_ERROR, f"out of disk{limit}"
        case Ending.LOST:
            reason, detail = FailureReason.SANDBOX_ERROR, "the sandbox or its engine went away"
        case Ending.KILLED:
            reason, detail = FailureReason.from_stage(stage, _exit_code(command)), _killed(command)
        case Ending.EXITED:
            reason, detail = _from_exit(stage, command)
        case _:  # pragma: no cover
            assert_never(command.ending)
    if reason is None:
        return None
    return Failure(stage=stage, reason=reason, fault=_fault(stage, reason, command), detail=detail)


def _from_exit(stage: StageName, command: CommandResult) -> tuple[FailureReason | None, str]:
    code = _exit_code(command)
    reason = FailureReason.from_stage(stage, code)
    if stage is StageName.FINAL_TEST and reason is None:
        return FailureReason.INTERNAL_ERROR, "pytest exited 0 but left no report"
    if reason is FailureReason.BASELINE_NOT_FAILING:
        return reason, "the tests pass before any fix"
    if code == 137:
        return reason, "killed by SIGKILL, cause unknown"
    return reason, f"exit code {code}: {_shown(command)}{last_line(command)}"


def _from_lack_of_memory(
    stage: StageName, command: CommandResult, evidence: Evidence
) -> tuple[FailureReason | None, str]:
    if evidence.ran_to_end and stage is not StageName.FINAL_TEST:
        return _from_exit(stage, command)
    limit = evidence.memory_limit_mib
    detail = f"out of memory (limit {limit} MiB)" if limit is not None else "out of memory"
    return FailureReason.SANDBOX_ERROR, detail


def _exit_code(command: CommandResult) -> int:
    """The exit code that a shell would show; a command that died of nobody knows what shows one."""
    if command.ending is Ending.KILLED:
        return 128 + command.signal if command.signal else command.exit_code or 128
    return 1 if command.exit_code is None else command.exit_code


def _fault(stage: StageName, reason: FailureReason, command: CommandResult) -> Fault:
    """Whose fault a command's end is: what an agent can cause is never infrastructure's."""
    if command.ending is Ending.LOST:
        return Fault.INFRASTRUCTURE
    if stage in _AGENTS_OWN:
        return Fault.AGENT
    if stage in _FETCHES and reason is FailureReason.TIMEOUT:
        return Fault.INFRASTRUCTURE
    dead = command.ending in {Ending.OUT_OF_MEMORY, Ending.OUT_OF_DISK, Ending.KILLED}
    if dead or stage is StageName.BASELINE_RUN:
        return Fault.TASK
    network = network_failure(command.stderr) or network_failure(command.stdout)
    return Fault.INFRASTRUCTURE if network else Fault.TASK


def _killed(command: CommandResult) -> str:
    code = _exit_code(command)
    if code == 128 + 9:
        return "killed by SIGKILL, cause unknown"
    which = f"signal {code - 128}" if code > 128 else "an unknown signal"
    return f"killed by {which}: {_shown(command)}"


def _shown(command: CommandResult) -> str:
    text = " ".join(command.argv)
    return text if len(text) <= 120 else f"{text[:117]}..."
