"""Whether all attempts of a run ended in one and the same error of the agent."""

from collections.abc import Sequence

from agentbench.report.harmless import harmless
from agentbench.runs.headline import Headline
from agentbench.scoring.taxonomy import FailureReason, Fault

_SHOWN = 300  # characters
_BY_THE_AGENT = frozenset(
    {FailureReason.UNKNOWN, FailureReason.TOOL_ERROR, FailureReason.INTERRUPTED}
)


def common_agent_error(attempts: Sequence[Headline]) -> str | None:
    """A line about the error that all attempts ended in; None where they did not.

    Errors are the same if their first words are: an exception's class, how a command ended.
    """
    errors = {(attempt.failure_reason, _kind_of(attempt)) for attempt in attempts}
    if len(errors) != 1 or any(kind is None for _reason, kind in errors):
        return None
    detail = harmless(attempts[0].detail, limit=_SHOWN)
    if len(attempts) == 1:
        return f"The attempt ended in an agent error: {detail}"
    return f"All {len(attempts)} attempts ended in the same agent error: {detail}"


def _kind_of(attempt: Headline) -> str | None:
    if attempt.fault is not Fault.AGENT or attempt.failure_reason not in _BY_THE_AGENT:
        return None
    return attempt.detail.partition(":")[0]
