"""The tests of an attempt from baseline to final, filtered and a page at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agentbench.scoring.evidence import CaseOutcome
from agentbench.scoring.verdict import CaseChange

CASES = 200
"""On one page."""


class CaseFilter(StrEnum):
    """Which tests are shown."""

    CHANGED = "changed"
    NOT_PASSED = "not-passed"
    LISTED = "listed"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """Some tests of an attempt."""

    cases: Sequence[CaseChange]
    counts: Mapping[CaseFilter, int]
    chosen: CaseFilter
    number: int
    count: int


def choose_cases(cases: Sequence[CaseChange], chosen: CaseFilter | None, number: int) -> CasePage:
    """The tests that were asked for; if none were, those that changed, or all where none did."""
    fitting = {name: [case for case in cases if fits(case)] for name, fits in _FILTERS.items()}
    if chosen is None:
        chosen = CaseFilter.CHANGED if fitting[CaseFilter.CHANGED] else CaseFilter.ALL
    left = fitting[chosen]
    count = max(1, -(-len(left) // CASES))
    number = min(number, count)
    return CasePage(
        cases=left[(number - 1) * CASES : number * CASES],
        counts={name: len(own) for name, own in fitting.items()},
        chosen=chosen,
        number=number,
        count=count,
    )


_FILTERS: Mapping[CaseFilter, Callable[[CaseChange], bool]] = {
    CaseFilter.CHANGED: lambda case: case.baseline is not case.final,
    CaseFilter.NOT_PASSED: lambda case: case.final is not CaseOutcome.PASSED,
    CaseFilter.LISTED: lambda case: case.listed is not None,
    CaseFilter.ALL: lambda _case: True,
}
