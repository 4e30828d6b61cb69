"""Why an attempt ended in its reason and in no other one."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from agentbench.runs.record import AttemptRecord
from agentbench.scoring.evidence import StageName
from agentbench.scoring.failure import Failure
from agentbench.scoring.taxonomy import FailureReason


class Standing(StrEnum):
    """What became of a reason that an attempt might have ended in."""

    DECIDED = "decided"
    OUTRANKED = "outranked"  # a reason with a lower precedence number was there, too
    NOT_TERMINAL = "did not end it"
    NOT_SEEN = "not seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """One reason, and what the attempt's stages say of it."""

    reason: FailureReason
    standing: Standing
    failure: Failure | None  # the candidate: its stage, its evidence in words
    why: str


def considered(record: AttemptRecord) -> tuple[Considered, ...]:
    """Every candidate of an attempt by precedence, the reason that was decided on among them."""
    return tuple(_candidates(record))


def not_seen(record: AttemptRecord) -> tuple[Considered, ...]:
    """The reasons that no stage showed, by precedence."""
    seen = {failure.reason for failure in record.failures}
    others = sorted(set(FailureReason) - seen, key=lambda reason: reason.precedence)
    return tuple(
        Considered(
            reason=reason,
            standing=Standing.NOT_SEEN,
            failure=None,
            why="no stage's evidence shows it",
        )
        for reason in others
    )


def in_one_sentence(record: AttemptRecord) -> str:
    """The decision, for whoever reads no table."""
    if record.resolved:
        return (
            "The final test decides, and it passed: every test that had to be fixed or kept "
            "passed, and no finding is critical."
        )
    if record.quarantined:
        return (
            "The final test passed, and the attempt is set aside all the same: "
            f"{record.detail.removeprefix('quarantined: ')}"
        )
    primary = record.failure_reason
    ended_it = {failure.reason for failure in record.failures if failure.terminal}
    lower = sorted(ended_it - {primary}, key=lambda reason: reason.precedence)
    if len(ended_it) < len({failure.reason for failure in record.failures}) and not lower:
        return f"{primary} is the only reason that ended the attempt."
    if primary is None or not lower:
        return f"{primary} is the only reason that a stage's evidence shows."
    names = ", ".join(f"{reason} ({reason.precedence})" for reason in lower)
    return (
        f"Of the reasons that ended the attempt, {primary} has the lowest precedence number "
        f"({primary.precedence}); it stands before {names}."
    )


def _candidates(record: AttemptRecord) -> Iterator[Considered]:
    decided = False
    for failure in sorted(record.failures, key=lambda each: each.reason.precedence):
        if not failure.terminal:
            standing = Standing.NOT_TERMINAL
            why = "the attempt went on after it"
            if failure.stage is StageName.FINAL_TEST:
                why = "a consequence: the agent had crashed"
        elif failure.reason is record.failure_reason and not decided:
            decided, standing = True, Standing.DECIDED
            why = f"the lowest precedence number: {failure.reason.rationale.lower()}"
        else:
            standing = Standing.OUTRANKED
            why = f"{record.failure_reason} stands before it"
            if failure.reason is record.failure_reason:
                why = "the same reason, from a later stage"
        yield Considered(reason=failure.reason, standing=standing, failure=failure, why=why)
