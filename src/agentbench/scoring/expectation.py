"""The tests that an attempt must fix or keep passing, and whether its final run did so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    CaseFact,
    CaseOutcome,
    Evidence,
    NodeId,
    PytestOutcome,
    ReportFacts,
    ReportTrust,
    reward_shortfall,
)
from agentbench.scoring.node_ids import is_node_id
from agentbench.scoring.trust import distrust_of, lack_of_fixed, lack_of_regression_test

_NO_REPORT = "no whole report of the final test"
_CUT_SHORT = "the final test did not run to its end"
_FINE = frozenset({CaseOutcome.PASSED, CaseOutcome.SKIPPED, CaseOutcome.XFAILED})


class ExpectedTests(Schema):
    """The tests that a task expects to be fixed, and those that must stay passing.

    Without fail_to_pass ids the whole run decides. "baseline" stands for every test that passed
    in the baseline run, except those that are quarantined as flaky.
    """

    fail_to_pass: tuple[NodeId, ...] = ()
    """Tests that have to fail before the change and to pass after it."""
    pass_to_pass: tuple[NodeId, ...] | Literal["baseline"] = ()
    """Tests that have to stay passing; "baseline": all that passed in the baseline run."""
    quarantined: tuple[NodeId, ...] = ()
    """Flaky tests that decide nothing."""
    reward_above: float | None = None
    """The reward has to be above this number if a script judges; null: tests decide."""


class Expectation(NamedTuple):
    """The expected tests with "baseline" expanded; each id is only once in only one list."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]


def with_node_ids(expected: ExpectedTests, *evidence: Evidence) -> ExpectedTests:
    """The expected tests, with node ids in place of names that a runner prints.

    A name means every test of these runs that has it; a name that no test has is kept.
    """
    names = [name for name in _listed(expected) if not is_node_id(name)]
    if not names:
        return expected
    cases = [case for one in evidence for case in reported_cases(one) if case.names]
    found = {
        name: tuple(dict.fromkeys(case.node_id for case in cases if case.has_name(name)))
        for name in names
    }

    def located(listed: Iterable[NodeId]) -> tuple[NodeId, ...]:
        ids = (node_id for name in listed for node_id in found.get(name) or (name,))
        return tuple(dict.fromkeys(ids))

    passing = expected.pass_to_pass
    return expected.replace(
        fail_to_pass=located(expected.fail_to_pass),
        pass_to_pass=passing if passing == "baseline" else located(passing),
    )


def has_names(expected: ExpectedTests) -> bool:
    """Whether a listed test is not a node id."""
    return not all(map(is_node_id, _listed(expected)))


def _listed(expected: ExpectedTests) -> tuple[NodeId, ...]:
    passing = () if expected.pass_to_pass == "baseline" else expected.pass_to_pass
    return (*expected.fail_to_pass, *passing)


def resolve_expectation(expected: ExpectedTests, baseline: Evidence) -> Expectation:
    """Expand "baseline" into the tests that passed in the baseline run.

    An id in both lists must be fixed, which is the stricter demand.
    """
    fixed = tuple(dict.fromkeys(expected.fail_to_pass))
    if expected.pass_to_pass == "baseline":
        before, flaky = outcomes_of(baseline), set(expected.quarantined)
        passed = [node_id for node_id, was in before.items() if was is CaseOutcome.PASSED]
        passing = tuple(node_id for node_id in passed if node_id not in flaky)
    else:
        passing = tuple(dict.fromkeys(expected.pass_to_pass))
    return Expectation(fixed, tuple(node_id for node_id in passing if node_id not in set(fixed)))


def shortfall_of(
    expected: ExpectedTests, expectation: Expectation, baseline: Evidence, final: Evidence
) -> str | None:
    """Why the final run does not count as resolved; `None` if it counts.

    The report of a run that ended by itself decides, as far as it is trusted.
    """
    if expected.reward_above is not None:
        ended = final.exception is None and final.ran_to_end
        return reward_shortfall(final.rewards, expected.reward_above) if ended else _CUT_SHORT
    report = final.report
    if report is None or not report.complete:
        return _NO_REPORT
    if (distrust := distrust_of(report, final.command)) is not None:
        return distrust
    # No exit code decides: plugins and hooks of a project may set it.
    if final.exception is not None or not final.ran_to_end:
        return _CUT_SHORT
    if expected.fail_to_pass:
        return _in_words(unmet_tests(expectation, final))
    failing = tuple(n for n, was in outcomes_of(baseline).items() if was in FAILING_OUTCOMES)
    unmet = unmet_tests(Expectation(failing, expectation.pass_to_pass), final)
    return whole_run_shortfall(report) or _in_words(unmet)


def shared_shortfall(
    expected: ExpectedTests, expectation: Expectation, baseline: Evidence, final: Evidence
) -> str | None:
    """The pass_to_pass tests that alone are lacking, if each ended in the baseline like this.

    The change fixed every test to fix and broke none, so it is not to blame.
    """
    report = final.report
    if report is None or not report.complete or distrust_of(report, final.command) is not None:
        return None
    unmet = unmet_tests(expectation, final)
    before, after = outcomes_of(baseline), outcomes_of(final)
    shared = [
        one.node_id not in expectation.fail_to_pass
        and before.get(one.node_id) is after.get(one.node_id)
        for one in unmet
    ]
    return _in_words(unmet) if expected.fail_to_pass and unmet and all(shared) else None


def whole_run_shortfall(report: ReportFacts) -> str | None:
    """Why a whole run without listed tests does not count as passed."""
    if report.collection_errors:
        return f"{report.collection_errors[0]} could not be collected"
    if report.failed or not report.passed:
        return "not all tests passed"
    # An unexpected success passes or fails by the runner's own rules, so the exit code decides.
    ran_all = len({case.node_id for case in report.cases}) >= report.collected
    all_fine = ran_all and all(case.outcome in _FINE for case in report.cases)
    by_code = report.outcome is PytestOutcome.PASSED
    return None if all_fine or by_code else "not all tests passed"


class UnmetTest(NamedTuple):
    """A test that has to pass and did not count as passed, and why."""

    node_id: NodeId
    why: str


def unmet_tests(expectation: Expectation, final: Evidence) -> tuple[UnmetTest, ...]:
    """The tests that had to pass in the final run and did not."""
    cases: dict[NodeId, list[CaseFact]] = {}
    for case in reported_cases(final):
        cases.setdefault(case.node_id, []).append(case)
    fixed, passing = expectation
    trust = final.report.trust if final.report else ReportTrust.IN_PROCESS_STREAM
    found = [(node_id, lack_of_fixed(cases.get(node_id, ()), trust)) for node_id in fixed]
    found += [
        (node_id, lack_of_regression_test(cases.get(node_id, ()), trust)) for node_id in passing
    ]
    return tuple(UnmetTest(node_id, lack.value) for node_id, lack in found if lack is not None)


def _in_words(unmet: Sequence[UnmetTest]) -> str | None:
    if not unmet:
        return None
    first = f"{unmet[0].node_id} {unmet[0].why}"
    return f"{first} and {len(unmet) - 1} more" if len(unmet) > 1 else first


def reported_cases(evidence: Evidence) -> tuple[CaseFact, ...]:
    """The tests that a stage's report shows."""
    return evidence.report.cases if evidence.report else ()


def outcomes_of(evidence: Evidence) -> Mapping[NodeId, CaseOutcome]:
    """The outcome of each test in a stage's report; of several outcomes, one that is not passed."""
    outcomes: dict[NodeId, CaseOutcome] = {}
    for case in reported_cases(evidence):
        if outcomes.get(case.node_id, CaseOutcome.PASSED) is CaseOutcome.PASSED:
            outcomes[case.node_id] = case.outcome
    return outcomes


def passed_tests(evidence: Evidence) -> frozenset[NodeId]:
    """The tests that passed each time that they are in a stage's report."""
    outcomes = outcomes_of(evidence).items()
    return frozenset(node_id for node_id, was in outcomes if was is CaseOutcome.PASSED)
