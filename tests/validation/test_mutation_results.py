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


def test_a_timeout_kills_and_what_is_broken_or_not_judged_does_not_count():
    strength = strength_of(killed=6, timed_out=1, survived=1, broken=5, not_judged=2)
    assert (strength.killed, strength.total) == (7, 8)
    assert strength.percent == pytest.approx(87.5)


@pytest.mark.parametrize("counts", [{}, {"broken": 3}, {"not_judged": 3}])
def test_where_nothing_counts_there_is_no_percentage(counts):
    strength = strength_of(**counts)
    assert strength.percent is None
    assert not reaches(strength, 0)


def test_a_least_strength_is_reached_only_if_all_are_judged():
    assert reaches(strength_of(killed=9, survived=1), 90)
    assert not reaches(strength_of(killed=8, survived=1), 90)
    assert not reaches(strength_of(killed=9, survived=1, not_judged=1), 90)


def test_a_strength_survives_being_written():
    strength = strength_of(killed=1, survived=1)
    assert MutationScore.model_validate_json(strength.model_dump_json()) == strength
