import pytest

from agentbench.validation.mutation_results import (
    MutantChange,
    MutantOutcome,
    MutantResult,
    MutationScore,
    reaches,
)

CHANGE = MutantChange(path="a.py", line=3, what="< to <=", removed="a < b", added="a <= b")


def strength_of(**counts):
    mutants = [
        MutantResult(change=CHANGE, outcome=MutantOutcome(word))
        for word, count in counts.items()
        for _ in range(count)
    ]
    return MutationScore(made=len(mutants), mutants=tuple(mutants))


def test_broken_and_unjudged_mutants_do_not_count():
    strength = strength_of(killed=6, timed_out=1, survived=1, broken=5, not_judged=2)
    assert (strength.killed, strength.total) == (7, 8)
    assert strength.percent == pytest.approx(87.5)


@pytest.mark.parametrize("counts", [{}, {"broken": 3}, {"not_judged": 3}])
def test_no_counted_mutant_gives_no_percentage(counts):
    strength = strength_of(**counts)
    assert strength.percent is None
    assert not reaches(strength, 0)


def test_minimum_score_needs_all_mutants_judged():
    assert reaches(strength_of(killed=9, survived=1), 90)
    assert not reaches(strength_of(killed=8, survived=1), 90)
    assert not reaches(strength_of(killed=9, survived=1, not_judged=1), 90)
