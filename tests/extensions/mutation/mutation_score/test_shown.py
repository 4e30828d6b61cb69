from agentbench.validation.mutation_results import (
    MutationScope,
    MutationScore,
    score_json,
    score_lines,
)
from tests.validation.test_mutation_results import strength_of


def test_survivors_are_shown_with_their_lines():
    assert list(score_lines(strength_of(killed=1, survived=1))) == [
        "strength: 1 of 2 (50.0 %) mutants killed, in the lines of the fix",
        "survived: a.py:3: < to <=",
        "  - a < b",
        "  + a <= b",
    ]


def test_all_that_is_not_plainly_killed_is_counted():
    strength = strength_of(killed=2, timed_out=1, broken=4, not_judged=1).replace(
        made=20, equivalent=3, seed=7, scope=MutationScope.FUNCTIONS
    )
    said = (
        "strength: 3 of 3 (100.0 %) mutants killed, in the functions that the fix touches; "
        "1 by the deadline; 4 broken and not counted; 3 equivalent and left out; 1 not judged; "
        "8 of 20 drawn, seed 7"
    )
    assert next(score_lines(strength)) == said


def test_what_was_not_measured_has_a_reason_and_no_figure():
    assert list(score_lines(MutationScore(why_not="there is none"))) == [
        "strength: not measured: there is none"
    ]
    assert score_json(MutationScore(why_not="there is none"))["percent"] is None


def test_a_row_has_the_counts_and_the_survivors():
    row = score_json(strength_of(killed=2, timed_out=1, survived=1, not_judged=1))
    assert (row["killed"], row["total"], row["timed_out"], row["not_judged"]) == (3, 4, 1, 1)
    assert [one["line"] for one in row["survivors"]] == [3]
    assert len(row["not_judged_mutants"]) == 1
    assert "mutants" not in row
