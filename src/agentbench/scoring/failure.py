"""A failure: one stage's reason, with the evidence in words that decided it."""

from agentbench.schema import Schema
from agentbench.scoring.stage_name import StageName
from agentbench.scoring.taxonomy import FailureReason, Fault


class Failure(Schema):
    """One candidate for the primary reason of an attempt."""

    stage: StageName
    reason: FailureReason
    fault: Fault
    detail: str
    terminal: bool = True
