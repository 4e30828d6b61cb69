import pytest

from agentbench.scoring.evidence import CaseOutcome, NodeId, PytestOutcome, ReportSource
from agentbench.test_runs.model import (
    PASSED_AT_ONCE,
    PASSED_PHASES,
    CaseResult,
    CollectionError,
    Phase,
    PhaseName,
    PhaseOutcome,
    PytestResult,
    PytestSummary,
    ReportedSession,
    case_result,
    cases_of,
    has_passed,
    nothing_reported,
    parse_phase,
)
from agentbench.test_runs.report_files import result_as_dict

CASE = CaseResult(
    node_id=NodeId("a.py::b"), outcome=CaseOutcome.PASSED, duration=0.5, phases=(1, 1, 1)
)
RESULT = PytestResult(
    exit_code=0,
    summary=PytestSummary(total=1, passed=1),
    tests=(CASE,),
    outcome=PytestOutcome.PASSED,
    source=ReportSource.STREAM,
    partial_facts=nothing_reported().replace(internals_changed=("pluggy.x",)),
)


def test_a_test_is_written_in_the_five_fields_of_the_decision_record():
    assert list(result_as_dict(RESULT)["tests"][0]) == [
        "node_id",
        "outcome",
        "duration",
        "message",
        "traceback",
    ]


NODE = NodeId("a.py::t")


def phase(when, outcome, **more):
    return Phase(when=PhaseName(when), outcome=PhaseOutcome(outcome), **more)


SETUP, CALL, TEARDOWN = PASSED_PHASES["setup"], PASSED_PHASES["call"], PASSED_PHASES["teardown"]
FAILED = phase("call", "failed", message="it failed", traceback="tb")


@pytest.mark.parametrize(
    ("phases", "outcome", "counts"),
    [
        ((SETUP, CALL, TEARDOWN), "passed", (1, 1, 1)),
        ((SETUP, FAILED, TEARDOWN), "failed", (1, 1, 1)),
        ((SETUP, FAILED), "failed", (1, 1, 0)),
        ((phase("setup", "failed"), TEARDOWN), "error", (1, 0, 1)),
        ((SETUP, CALL, phase("teardown", "failed")), "error", (1, 1, 1)),
        ((SETUP, FAILED, phase("teardown", "failed")), "failed", (1, 1, 1)),
        ((phase("setup", "skipped"), TEARDOWN), "skipped", (1, 0, 1)),
        ((SETUP, phase("call", "skipped"), TEARDOWN), "skipped", (1, 1, 1)),
        ((SETUP, CALL, phase("teardown", "skipped")), "skipped", (1, 1, 1)),
        ((SETUP, phase("call", "skipped", expected_to_fail=True), TEARDOWN), "xfailed", (1, 1, 1)),
        ((SETUP, phase("call", "passed", expected_to_fail=True), TEARDOWN), "xpassed", (1, 1, 1)),
        ((phase("setup", "skipped", expected_to_fail=True), TEARDOWN), "xfailed", (1, 0, 1)),
        ((), "unfinished", (0, 0, 0)),
        ((SETUP,), "unfinished", (1, 0, 0)),
        ((SETUP, CALL), "unfinished", (1, 1, 0)),
        ((SETUP, TEARDOWN), "unfinished", (1, 0, 1)),
        ((CALL, TEARDOWN), "unfinished", (0, 1, 1)),
        ((phase("setup", "skipped"),), "unfinished", (1, 0, 0)),
        ((*PASSED_AT_ONCE, *PASSED_AT_ONCE), "passed", (2, 2, 2)),
        ((*PASSED_AT_ONCE, SETUP, FAILED, TEARDOWN), "failed", (2, 2, 2)),
        ((*PASSED_AT_ONCE, SETUP), "unfinished", (2, 1, 1)),
        ((SETUP, phase("call", "rerun"), *PASSED_AT_ONCE), "passed", (2, 1, 1)),
        ((SETUP, phase("call", "rerun"), SETUP), "unfinished", (2, 0, 0)),
        ((SETUP, phase("call", "rerun"), SETUP, TEARDOWN), "unfinished", (2, 0, 1)),
    ],
)
def test_worst_phase_decides_the_outcome(phases, outcome, counts):
    case = case_result(NODE, phases, 1.5)
    assert (case.outcome, case.phases, case.duration) == (outcome, counts, 1.5)
    assert has_passed(phases) is (outcome == "passed")


def test_a_failed_subtest_makes_its_test_fail_and_says_why():
    subtest = phase("call", "failed", message="one it is", is_subtest=True)
    contains = phase("call", "failed", message="contains 1 failed subtest")
    for own in (CALL, contains):
        case = case_result(NODE, (SETUP, subtest, own, TEARDOWN))
        assert (case.outcome, case.message, case.phases) == ("failed", "one it is", (1, 1, 1))


@pytest.mark.parametrize("outcome", ["passed", "skipped"])
def test_other_subtests_leave_their_test_as_it_is(outcome):
    subtest = phase("call", outcome, is_subtest=True)
    assert case_result(NODE, (SETUP, subtest, CALL, TEARDOWN)).outcome == "passed"
    assert has_passed((SETUP, subtest, CALL, TEARDOWN))


def test_only_a_failure_carries_a_traceback():
    assert case_result(NODE, (SETUP, FAILED, TEARDOWN)).traceback == "tb"
    skipped = phase("setup", "skipped", message="why", traceback="tb")
    case = case_result(NODE, (skipped, TEARDOWN))
    assert (case.message, case.traceback) == ("why", None)


def test_result_without_phases_does_not_replace_phases():
    session = ReportedSession(source=ReportSource.STREAM)
    session.add(NODE, *PASSED_AT_ONCE)
    session.add_skipped_file(NODE, "no")
    session.add_skipped_file(NodeId("b.py"), "yes")
    assert [(c.node_id, c.outcome) for c in cases_of(session)] == [
        (NODE, "passed"),
        ("b.py", "skipped"),
    ]


@pytest.fixture
def session():
    return ReportedSession(source=ReportSource.STREAM)


def case(outcome):
    return CaseResult(node_id=NODE, outcome=outcome, duration=0.0)


def test_phases_and_durations_of_a_test_add_up(session):
    session.add(NODE)
    session.add(NODE, PASSED_PHASES["setup"], duration=1.0)
    session.add(NODE, PASSED_PHASES["call"], duration=2.0)
    assert session.phases[NODE] == (PASSED_PHASES["setup"], PASSED_PHASES["call"])
    assert session.durations[NODE] == 3.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (CaseOutcome.PASSED, CaseOutcome.FAILED),
        (CaseOutcome.FAILED, CaseOutcome.PASSED),
    ],
)
def test_worse_of_two_results_counts(session, first, second):
    session.add_result(case(first))
    session.add_result(case(second))
    assert session.results[NODE].outcome is CaseOutcome.FAILED


def test_repeated_collection_error_counts_once(session):
    for _ in range(2):
        session.add_collection_error(CollectionError(file="a.py", message="m"))
    assert len(session.collection_errors) == 1


@pytest.mark.parametrize(
    ("when", "outcome", "expected"),
    [
        ("setup", "passed", (PhaseName.SETUP, PhaseOutcome.PASSED)),
        ("teardown", "rerun", (PhaseName.TEARDOWN, PhaseOutcome.RERUN)),
        ("call", "flaky", (PhaseName.CALL, PhaseOutcome.FAILED)),
        ("???", "failed", (PhaseName.CALL, PhaseOutcome.FAILED)),
        ("???", "passed", (PhaseName.CALL, PhaseOutcome.FAILED)),
        (None, "passed", (PhaseName.CALL, PhaseOutcome.FAILED)),
        ("call", 1, (PhaseName.CALL, PhaseOutcome.FAILED)),
        ([], {}, (PhaseName.CALL, PhaseOutcome.FAILED)),
    ],
)
def test_unknown_word_is_no_passed_phase(when, outcome, expected):
    assert parse_phase(when, outcome) == expected
