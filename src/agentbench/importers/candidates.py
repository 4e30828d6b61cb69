"""What becomes of a candidate: a commit or a pair of releases that may give a task."""

from enum import StrEnum

from agentbench.validation.task_validation import ValidationResult


class CandidateOutcome(StrEnum):
    """The result for a commit, or for a pair of releases."""

    KEPT = "kept"
    REJECTED = "rejected"
    UNDECIDED = "undecided"  # the infrastructure failed; the next run tries it again


def candidate_outcome(proven: ValidationResult) -> CandidateOutcome:
    """The result for a candidate by the validation of its task."""
    if proven.is_valid:
        return CandidateOutcome.KEPT
    return CandidateOutcome.UNDECIDED if proven.undecided else CandidateOutcome.REJECTED
