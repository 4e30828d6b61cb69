"""The timeline of an attempt as a table: tests by states, neighbours with equal outcomes joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from agentbench.attempt.timeline.document import MAX_BROKEN, JudgedState, Timeline
from agentbench.attempt.timeline.steps import answer_times, step_before
from agentbench.models.trajectory import Step
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.verdict import CaseChange

_MAX_ROWS = 40


class StateOutcome(StrEnum):
    """How a test ended in some states."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineColumn:
    """Neighbouring states with the same outcome."""

    title: str  # the steps that made them; without a trajectory, their numbers
    begin_s: float  # since the first state
    states: int
    judged: int  # of them
    is_first_solved: bool
    is_lost_again: bool
    outcome: StateOutcome  # of all tests that decide
    fault: str  # why it could not be judged


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """One test in every column."""

    test: NodeId
    outcomes: Sequence[StateOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineTable:
    """The table."""

    columns: Sequence[TimelineColumn]
    to_fix: Sequence[TimelineRow]
    broken: Sequence[TimelineRow]  # tests that passed before, and that a state broke
    left_out: int  # tests beyond the limit
    notes: Sequence[str]


def timeline_table(
    timeline: Timeline, tests: Sequence[CaseChange], steps: Sequence[Step]
) -> TimelineTable | None:
    """The table of a timeline; None if it has no states.

    Args:
        timeline: The timeline.
        tests: The tests of the attempt's record.
        steps: The steps of its trajectory; empty if there is none.
    """
    noted = timeline.noted
    if not noted:
        return None
    judged_states = {each.state for each in timeline.judged}
    states = [timeline.judged_at(number) for number in range(len(noted))]
    outcomes = [(each.outcome, each.fault) if each is not None else None for each in states]
    # Each column's numbers of states.
    spans = [list(own) for _, own in groupby(range(len(noted)), key=outcomes.__getitem__)]
    titles = _titles(timeline, [span[0] for span in spans], steps)
    results = [_ColumnResult.of(states[span[0]]) for span in spans]
    columns = []
    for span, title, result in zip(spans, titles, results, strict=True):
        first, judged = span[0], states[span[0]]
        column = TimelineColumn(
            title=title,
            begin_s=(noted[first].at - noted[0].at).total_seconds(),
            states=len(span),
            judged=sum(noted[number].state in judged_states for number in span),
            is_first_solved=first == timeline.first_solved,
            is_lost_again=first == timeline.lost_again,
            outcome=result.of_all_tests,
            fault=judged.fault if judged is not None else "",
        )
        columns.append(column)
    listed = [test.node_id for test in tests if test.listed == "fail_to_pass"]
    passed = [test for each in timeline.judged for test in each.passed]
    broken = [test for each in timeline.judged for test in each.broke]
    to_fix = [
        TimelineRow(test=test, outcomes=[each.of_test_to_fix(test) for each in results])
        for test in dict.fromkeys([*listed, *passed])  # no final test: no listed ones
    ]
    others = [
        TimelineRow(test=test, outcomes=[each.of_broken_test(test) for each in results])
        for test in dict.fromkeys(broken)
    ]
    # A test that changes tells more than one that never does.
    by_interest = sorted((*to_fix, *others), key=lambda row: len(set(row.outcomes)) == 1)
    shown = {id(row) for row in by_interest[:_MAX_ROWS]}
    return TimelineTable(
        columns=columns,
        to_fix=[row for row in to_fix if id(row) in shown],
        broken=[row for row in others if id(row) in shown],
        left_out=len(by_interest) - len(shown),
        notes=timeline.notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnResult:
    is_known: bool
    resolved: bool
    passed: frozenset[NodeId]
    broke: frozenset[NodeId]

    @classmethod
    def of(cls, judged: JudgedState | None) -> "_ColumnResult":
        if judged is None or judged.fault:
            return cls(is_known=False, resolved=False, passed=frozenset(), broke=frozenset())
        resolved, passed, broke = judged.outcome
        return cls(is_known=True, resolved=resolved, passed=passed, broke=broke)

    def _outcome(self, *, passes: bool) -> StateOutcome:
        if not self.is_known:
            return StateOutcome.UNKNOWN
        return StateOutcome.PASSED if passes else StateOutcome.FAILED

    @property
    def of_all_tests(self) -> StateOutcome:
        return self._outcome(passes=self.resolved)

    def of_test_to_fix(self, test: NodeId) -> StateOutcome:
        return self._outcome(passes=test in self.passed)

    def of_broken_test(self, test: NodeId) -> StateOutcome:
        # Further broken tests are not listed, and this may be one.
        if test not in self.broke and len(self.broke) >= MAX_BROKEN:
            return StateOutcome.UNKNOWN
        return self._outcome(passes=test not in self.broke)


def _titles(timeline: Timeline, begins: Sequence[int], steps: Sequence[Step]) -> list[str]:
    """The title of each column by its first state, which lasts until the next column begins."""
    ends = [*begins[1:], len(timeline.noted)]
    answers = answer_times(steps)
    if not answers:
        return [
            f"state {begin + 1}" if end == begin + 1 else f"states {begin + 1}\u2013{end}"
            for begin, end in zip(begins, ends, strict=True)
        ]
    firsts = [step_before(answers, timeline.noted[begin].at) for begin in begins]
    numbers = [step for step, _ in answers]
    titles = []
    for first, following in zip(firsts, [*firsts[1:], numbers[-1] + 1], strict=True):
        last = max((step for step in numbers if step < (following or 0)), default=first)
        if first is None:
            titles.append("start" if last is None else f"start to step {last}")
        elif last is None or last <= first:
            titles.append(f"step {first}")
        else:
            titles.append(f"steps {first}\u2013{last}")
    return titles
