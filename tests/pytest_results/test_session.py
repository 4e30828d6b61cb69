import pytest

from agentbench.pytest_results.model import CaseResult, CollectionError
from agentbench.pytest_results.session import PASSED, PhaseOutcome, Session, When, phase_words
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource

NODE = NodeId("a.py::t")


@pytest.fixture
def session():
    return Session(source=ReportSource.STREAM)


def case(outcome):
    return CaseResult(node_id=NODE, outcome=outcome, duration=0.0)


def test_phases_and_durations_of_a_test_add_up(session):
    session.add(NODE)
    session.add(NODE, PASSED["setup"], duration=1.0)
    session.add(NODE, PASSED["call"], duration=2.0)
    assert session.phases[NODE] == (PASSED["setup"], PASSED["call"])
    assert session.durations[NODE] == 3.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (CaseOutcome.PASSED, CaseOutcome.FAILED),
        (CaseOutcome.FAILED, CaseOutcome.PASSED),
    ],
)
def test_of_two_results_for_one_test_the_one_that_did_not_pass_stays(session, first, second):
    session.tell(case(first))
    session.tell(case(second))
    assert session.told[NODE].outcome is CaseOutcome.FAILED


def test_a_collection_error_that_is_told_twice_counts_once(session):
    for _ in range(2):
        session.add_collection_error(CollectionError(file="a.py", message="m"))
    assert len(session.collection_errors) == 1


@pytest.mark.parametrize(
    ("when", "outcome", "expected"),
    [
        ("setup", "passed", (When.SETUP, PhaseOutcome.PASSED)),
        ("teardown", "rerun", (When.TEARDOWN, PhaseOutcome.RERUN)),
        ("call", "flaky", (When.CALL, PhaseOutcome.FAILED)),
        ("???", "failed", (When.CALL, PhaseOutcome.FAILED)),
        ("???", "passed", (When.CALL, PhaseOutcome.FAILED)),
        (None, "passed", (When.CALL, PhaseOutcome.FAILED)),
        ("call", 1, (When.CALL, PhaseOutcome.FAILED)),
        ([], {}, (When.CALL, PhaseOutcome.FAILED)),
    ],
)
def test_a_word_that_is_not_known_never_makes_a_phase_pass(when, outcome, expected):
    assert phase_words(when, outcome) == expected
