import pytest

from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.test_runs.model import (
    PASSED_PHASES,
    CaseResult,
    CollectionError,
    PhaseName,
    PhaseOutcome,
    ReportedSession,
    parse_phase,
)

NODE = NodeId("a.py::t")


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
def test_of_two_results_for_one_test_the_one_that_did_not_pass_stays(session, first, second):
    session.add_result(case(first))
    session.add_result(case(second))
    assert session.results[NODE].outcome is CaseOutcome.FAILED


def test_a_collection_error_that_is_told_twice_counts_once(session):
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
def test_a_word_that_is_not_known_never_makes_a_phase_pass(when, outcome, expected):
    assert parse_phase(when, outcome) == expected
