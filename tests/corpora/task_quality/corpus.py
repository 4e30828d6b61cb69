"""All tasks whose faults are known, the few that the gate tries, and a table of them."""

from collections.abc import Iterator

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
_IN_THE_GATE = {"durations-back-to-text", "comments-too-long", "query-with-several-values"}


def in_the_gate() -> list[QualityCase]:
    """One task of each kind; the soak tries all."""
    return [case for case in CASES if case.name in _IN_THE_GATE]


def table() -> str:
    """The tasks and their labels in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in _rows())


def _rows() -> Iterator[tuple[str, ...]]:
    yield "task", "too narrow", "too wide", "what shows it"
    yield ("---",) * 4
    for case in CASES:
        reasons = [case.reason]
        if case.is_too_wide:
            reasons.append(f"accepted wrong fix: {case.wrong_reason}")
        narrow = case.kind.value if case.kind else "no"
        wide = "yes" if case.is_too_wide else "no"
        yield f"`{case.name}`", narrow, wide, "; ".join(reasons)
