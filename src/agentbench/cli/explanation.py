"""What `agentbench explain` is asked for, found in the taxonomy."""

import re

from agentbench.errors import UsageError
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason
from agentbench.scoring.stage_name import StageName
from agentbench.scoring.taxonomy import FailureReason


def explanation(what: str | None, stage: str | None) -> str:
    """The text for a reason, an exit code, or (for neither) the list of all reasons.

    Raises:
        UsageError: there is no such reason or stage.
    """
    if stage is not None and stage not in set(StageName):
        raise UsageError(f"--stage: {stage!r} is not a stage; expected {', '.join(StageName)}")
    if what is None:
        rows = sorted(FailureReason, key=lambda reason: reason.precedence)
        return "\n".join(f"{r.precedence:>2} {r:<22} {r.description}" for r in rows)
    if re.fullmatch(r"-?[0-9]{1,5}", what):
        return explain_exit_code(int(what), stage)
    name = what.upper().replace("-", "_")
    if name not in FailureReason.__members__:
        known = ", ".join(FailureReason)
        raise UsageError(f"{what!r} is neither an exit code nor a reason; reasons: {known}")
    return explain_reason(FailureReason(name))
