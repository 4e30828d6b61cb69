"""What an agent's exception shows: the fact for the judgement, and its traceback for people."""

from pathlib import Path
from traceback import TracebackException

from agentbench.agents.gateway.redaction import Redactor
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import ExceptionFact, StageName
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.stages.agent_sandbox import AgentSandbox

_LONGEST_TRACEBACK = 20_000  # characters of a traceback, from its end
_OURS = str(Path(__file__).parents[1])
# What the protocol of agents lets them raise; the reason of any other exception is not theirs.
_AGREED = frozenset({FailureReason.LLM_ERROR, FailureReason.TOOL_ERROR, FailureReason.INTERRUPTED})


def agent_error(error: BaseException, sandbox: AgentSandbox, redactor: Redactor) -> ExceptionFact:
    """The fact, with every text free of secrets.

    A `SandboxError` while the sandbox works is a misuse of it, and the agent's fault.
    """
    fact = exception_fact(StageName.AGENT_RUN, error)
    reason, fault = FailureReason(fact.reason), fact.fault
    is_lost = reason is FailureReason.SANDBOX_ERROR and sandbox.is_lost()
    if not is_lost and reason is not FailureReason.LLM_ERROR:
        fault = Fault.AGENT.value
    if not is_lost and reason not in _AGREED:
        reason = FailureReason.UNKNOWN
    trace = TracebackException.from_exception(error)

    def shown(text: str) -> str:
        return redactor.text(text.encode("utf-8", "replace").decode())

    return fact.model_copy(
        update={
            "message": shown(fact.message),
            "reason": reason.value,
            "fault": fault,
            "where": shown(_where(trace)),
            "traceback": shown("".join(_without_our_frames(trace).format()))[-_LONGEST_TRACEBACK:],
        }
    )


def _where(trace: TracebackException) -> str:
    """The last line of the agent's own code: below it may be ours, which it misused."""
    frames = [frame for frame in trace.stack if not frame.filename.startswith(_OURS)]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def _without_our_frames(trace: TracebackException) -> TracebackException:
    """The traceback from where the agent's own code begins."""
    while len(trace.stack) > 1 and trace.stack[0].filename.startswith(_OURS):
        del trace.stack[0]
    return trace
