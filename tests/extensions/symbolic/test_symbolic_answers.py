"""No answer is more certain than what was looked at."""

import pytest

from agentbench.extensions.symbolic.analysis import (
    EXAMPLES,
    AnalysisFinding,
    AnalysisResult,
    BehaviourDifference,
    ComparisonEnding,
    ComparisonResult,
)
from agentbench.extensions.symbolic.symbolic_answers import (
    CallTime,
    branches_answer,
    check_answer,
    compare_answer,
    find_path_answer,
)
from tests.extensions.symbolic.symbolic_bench import MASK

SPENT = CallTime(timeout_seconds=10.0, took=1.23456, mask=MASK)
SEEN = AnalysisResult(paths=7, verified=7, hits=7, checked="all")
FINDING = AnalysisFinding(
    call="f(1)", inputs={"x": "1"}, ending="raised", said="raises E: /srv/x", line=3
)


def statuses(found):
    """What the three tools make of one search."""
    answers = (
        check_answer("f", found, SPENT),
        find_path_answer("f", "E", found, SPENT),
        branches_answer("f", found, SPENT),
    )
    return [(each.status, each.error_type, each.bounds.exhaustive) for each in answers]


def test_where_all_paths_were_explored_it_is_proven():
    proven = SEEN.replace(exhausted=True)
    assert statuses(proven) == [
        ("verified", None, True),
        ("unreachable", None, True),
        ("complete", None, True),
    ]


def test_where_the_bounds_ended_the_search_it_is_said_to_be_no_proof():
    assert statuses(SEEN) == [
        ("verified", None, False),
        ("unreachable", None, False),
        ("complete", None, False),
    ]
    assert "no proof" in check_answer("f", SEEN, SPENT).message
    assert "no proof" in find_path_answer("f", "E", SEEN, SPENT).message
    assert "no proof" in branches_answer("f", SEEN, SPENT).message


def test_where_the_time_ended_it_nothing_is_verified():
    over = SEEN.replace(over=True)
    assert statuses(over) == [
        ("timeout", "TimeoutError", False),
        ("error", "TimeoutError", False),
        ("error", "TimeoutError", False),
    ]


def test_where_no_path_came_to_its_end_nothing_is_verified():
    nothing = AnalysisResult(paths=4, given_up={"CrosshairUnsupported": 4})
    assert {status for status, *_ in statuses(nothing)} == {"error"}
    message = check_answer("f", nothing, SPENT).message
    assert message == (
        "no path of f was followed to its end: 4 were begun, "
        "4 of which were given up (CrosshairUnsupported)"
    )


def test_paths_that_were_given_up_are_counted_and_named():
    some = SEEN.replace(given_up={"PathTimeout": 2})
    answer = check_answer("f", some, SPENT)
    assert "2 of which were given up (PathTimeout)" in answer.message
    assert answer.bounds.paths_given_up == 2


def test_what_no_call_confirms_is_neither_found_nor_excluded():
    doubtful = SEEN.replace(unconfirmed=("f(3)",), exhausted=True)
    check, path, branches = statuses(doubtful)
    assert check == path == ("error", "RuntimeError", False)
    assert branches == ("complete", None, False)
    assert "a real call does not confirm it" in check_answer("f", doubtful, SPENT).message


def test_a_finding_counts_however_the_search_ended_and_shows_no_path_of_the_host():
    found = AnalysisResult(paths=2, findings=(FINDING,), over=True)
    check = check_answer("f", found, SPENT)
    assert (check.status, check.time_seconds) == ("counterexample", 1.2346)
    assert check.message == "f(1) raises E: <host> (line 3)"
    assert check.counterexamples[0].outcome == "raises E: <host>"
    assert find_path_answer("f", "E", found, SPENT).status == "found"


def compared(found):
    return compare_answer(("f", "g"), found, SPENT)


def answered(ending=ComparisonEnding.NO_DIFFERENCE, **told):
    return compared(ComparisonResult(ending=ending, **told))


def test_two_are_different_only_on_an_input():
    seen = BehaviourDifference(program=("f(1)",), call="f(1)", left="returns 1", right="returns 2")
    answer = answered(ComparisonEnding.DIFFERENT, difference=seen, inputs_tried=3)
    assert (answer.status, answer.confidence) == ("different", "proven")
    assert answer.message == "on f(1), f returns 1 and g returns 2"


def test_two_are_proven_equivalent_only_on_all_of_their_paths():
    proven = answered(exhausted=True, paths_explored=2)
    assert (proven.status, proven.confidence, proven.bounds.exhaustive) == (
        "equivalent",
        "proven",
        True,
    )
    tested = answered(inputs_tried=EXAMPLES)
    assert (tested.status, tested.confidence, tested.bounds.exhaustive) == (
        "equivalent",
        "tested",
        False,
    )


@pytest.mark.parametrize(
    ("told", "error_type"),
    [
        ({"ending": ComparisonEnding.NOT_COMPARED, "why": "no generator"}, "RuntimeError"),
        ({"inputs_tried": 0}, "RuntimeError"),
        ({"inputs_tried": 5, "time_spent": 9.8}, "TimeoutError"),
        ({"inputs_tried": 0, "time_spent": 9.8}, "TimeoutError"),
    ],
)
def test_two_that_were_not_looked_at_enough_are_not_equivalent(told, error_type):
    answer = answered(**told)
    assert (answer.status, answer.error_type, answer.confidence) == ("error", error_type, "none")


def test_a_comparison_without_an_answer_says_why():
    assert compared(AnalysisResult(over=True)).error_type == "TimeoutError"
    ended = AnalysisResult(error_type="RuntimeError", message="ended by signal 9")
    assert compared(ended).message == "ended by signal 9"
    refusal = AnalysisResult(error_type="SyntaxError", message="Syntax error: x")
    assert compared(refusal).error_type == "SyntaxError"
