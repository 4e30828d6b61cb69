"""Which tests an attempt must fix or keep, and what its final run lacks of that."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from agentbench.schema import Schema
from agentbench.scoring.evidence import (
    CaseFact,
    CaseOutcome,
    Ending,
    Evidence,
    NodeId,
    PytestOutcome,
)


class ExpectedTests(Schema):
    """Which tests a task expects to be fixed, and which to stay passing.

    With no fail_to_pass ids the whole run decides; "baseline" stands for every test that passed
    in the baseline run.
    """

    fail_to_pass: tuple[NodeId, ...] = ()
    pass_to_pass: tuple[NodeId, ...] | Literal["baseline"] = ()


class _Shortfall(StrEnum):
    """Why an expected test does not count."""

    MISSING = "not run"
    NOT_PASSED = "not passed"
    BROKEN_PHASES = "without exactly one set-up, call and teardown"


class Expectation(NamedTuple):
    """The expected tests with "baseline" spelled out."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]


_GOOD = frozenset({CaseOutcome.PASSED})
BAD = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR, CaseOutcome.UNFINISHED})
_WHOLE = (1, 1, 1)


def resolve_expectation(expected: ExpectedTests, baseline: Evidence) -> Expectation:
    """Spell out the expected tests, with what the baseline run passed where a task says so."""
    if expected.pass_to_pass != "baseline":
        return Expectation(expected.fail_to_pass, expected.pass_to_pass)
    wanted = set(expected.fail_to_pass)
    passing = tuple(
        case.node_id
        for case in cases_of(baseline)
        if case.outcome in _GOOD and case.node_id not in wanted
    )
    return Expectation(expected.fail_to_pass, passing)


def shortfall_of(
    expected: ExpectedTests, expectation: Expectation, baseline: Evidence, final: Evidence
) -> str | None:
    """What the final run's evidence lacks to count as resolved; `None` when it lacks nothing."""
    report = final.report
    if report is None or not report.complete:
        return "no whole report of the final test"
    if final.command is None or final.command.ending is not Ending.EXITED:
        return "the final test did not run to its end"
    outcome = report.outcome
    if expected.fail_to_pass:
        if outcome not in {PytestOutcome.PASSED, PytestOutcome.FAILED}:
            return f"the final test ended in {outcome.value}"
        return _listed_shortfall(expectation, final)
    if outcome is not PytestOutcome.PASSED or report.passed == 0 or report.failed:
        return "not all tests passed"
    once_failing = [case.node_id for case in cases_of(baseline) if case.outcome in BAD]
    return _listed_shortfall(Expectation(tuple(once_failing), expectation.pass_to_pass), final)


def _listed_shortfall(expectation: Expectation, final: Evidence) -> str | None:
    cases = {case.node_id: case for case in cases_of(final)}
    lacks = {
        node_id: lack
        for node_id in expectation.fail_to_pass
        if (lack := _lack_of_fixed(cases.get(node_id)))
    }
    for node_id in expectation.pass_to_pass:
        case = cases.get(node_id)
        if case is None:
            lacks[node_id] = _Shortfall.MISSING
        elif case.outcome in BAD:
            lacks[node_id] = _Shortfall.NOT_PASSED
    if not lacks:
        return None
    first, lack = next(iter(lacks.items()))
    more = f" and {len(lacks) - 1} more" if len(lacks) > 1 else ""
    return f"{first} {lack.value}{more}"


def _lack_of_fixed(case: CaseFact | None) -> _Shortfall | None:
    if case is None:
        return _Shortfall.MISSING
    if case.outcome is not CaseOutcome.PASSED:
        return _Shortfall.NOT_PASSED
    return None if case.phases == _WHOLE else _Shortfall.BROKEN_PHASES


def cases_of(evidence: Evidence) -> tuple[CaseFact, ...]:
    """The tests that a stage's report shows."""
    return evidence.report.cases if evidence.report else ()


def outcomes_of(evidence: Evidence) -> Mapping[NodeId, CaseOutcome]:
    """What became of each test that a stage's report shows."""
    return {case.node_id: case.outcome for case in cases_of(evidence)}
