"""All tasks whose faults are known, and the few that the gate tries."""

from tests.corpora.task_quality import beyond, both, equals, fair, unstated
from tests.corpora.task_quality.case import QualityCase

CASES: tuple[QualityCase, ...] = (
    *unstated.NARROW,
    *equals.NARROW,
    *beyond.NARROW,
    *unstated.FAIR,
    *equals.FAIR,
    *beyond.FAIR,
    *fair.FAIR,
    *both.BOTH,
)
_IN_THE_GATE = {"durations-back-to-text"}


def in_the_gate() -> list[QualityCase]:
    """One task of each kind; the soak tries all."""
    return [case for case in CASES if case.name in _IN_THE_GATE]
