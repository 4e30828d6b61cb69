import pytest

from agentbench.errors import InputError
from agentbench.report.comparison import compare, doubts, regression
from agentbench.report.summary import Rate
from tests.report.several import attempts


def test_flips_are_named_with_both_rates():
    told = compare(attempts("a", "r", "r", "f", "f"), attempts("b", "r", "f", "r", "f"))
    assert [flip.task_id for flip in told.lost] == ["task-1"]
    (gained,) = told.gained
    assert gained.task_id == "task-2"
    assert (gained.first, gained.second) == (Rate(resolved=0, total=1), Rate(resolved=1, total=1))
    assert (told.tasks, told.overall.difference, told.overall.p_value) == (4, 0.0, 1.0)
    assert told.overall.test == "exact McNemar test"
    assert told.overall.detectable is None
    assert told.overall.interval.low < 0 < told.overall.interval.high


def test_only_tasks_that_both_runs_have_are_compared():
    told = compare(attempts("a", "r", "f", "r"), attempts("b", "r", "f"))
    assert (told.tasks, told.only_first, told.only_second) == (2, ("task-2",), ())
    assert told.first.overall == told.second.overall == Rate(resolved=1, total=2)


def test_runs_without_a_common_task_are_refused_in_one_line():
    with pytest.raises(InputError, match=r"2 tasks and 0 tasks.* share no task") as told:
        compare(attempts("a", "r", "f"), [])
    assert len(str(told.value).splitlines()) == 1


def test_attempts_lost_to_the_infrastructure_count_in_one_denominator_and_not_in_the_other():
    told = compare(attempts("a", "r", "r", "r"), attempts("b", "r", "r", "l"))
    assert told.overall.difference == pytest.approx(-1 / 3)
    assert (told.judged.tasks, told.judged.difference) == (2, 0.0)


def test_where_no_task_is_judged_in_both_there_is_no_second_comparison():
    assert compare(attempts("a", "l"), attempts("b", "r")).judged is None


def test_several_and_unequal_numbers_of_attempts_are_compared_by_their_shares():
    told = compare(attempts("a", "rrf", "ff"), attempts("b", "r", "rf"))
    assert told.overall.difference == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert told.overall.test == "permutation test"
    assert len(told.gained) == 2


def test_an_equal_share_of_other_numbers_of_attempts_is_no_flip():
    told = compare(attempts("a", "rf"), attempts("b", "rrff"))
    assert (told.gained, told.lost) == ((), ())


def test_a_task_of_the_same_id_with_another_digest_is_named():
    told = compare(attempts("a", "r", "r"), attempts("b", "r", task_digest="other"))
    assert told.changed == ("task-0",)
    assert compare(attempts("a", "r"), attempts("b", "r")).changed == ()


def test_a_run_beside_itself_does_not_differ():
    run = attempts("a", "r", "f", "rf")
    told = compare(run, run)
    assert (told.overall.difference, told.overall.p_value, told.gained, told.lost) == (
        0.0,
        1.0,
        (),
        (),
    )


WHOLE = attempts("a", *["r"] * 10)


def found(*tasks, strict=False, alpha=0.05, first=WHOLE):
    return regression(compare(first, attempts("b", *tasks), alpha=alpha), strict=strict)


def test_what_chance_explains_is_no_regression():
    assert found(*["r"] * 5, *["f"] * 5) is None  # p = 2 / 2**5
    told = found(*["r"] * 4, *["f"] * 6)
    assert told == (
        "regression: \u221260.0 points, 95 % CI \u221283.2 to \u22124.5. Statistically significant "
        "(p = 0.031): the first run is better. Exact McNemar test over 10 tasks."
    )
    assert found(*["r"] * 5, *["f"] * 5, alpha=0.07) is not None


def test_what_is_better_beyond_chance_is_none_either():
    assert found(*["r"] * 10, first=attempts("a", *["f"] * 10)) is None


def test_strict_takes_one_lost_task_whatever_was_gained():
    told = found(*["r"] * 9, "f", strict=True)
    assert told == "regression: 1 resolved less often: task-9"
    assert found(*["r"] * 10, strict=True) is None
    assert found("rf", first=attempts("a", "rr"), strict=True) is not None


def test_strict_names_some_of_very_many():
    first = attempts("a", *["r"] * 30)
    assert found(*["f"] * 30, first=first, strict=True).endswith(" and 20 more")


def test_attempts_lost_to_the_infrastructure_are_no_regression_but_to_strict():
    assert found(*["r"] * 4, *["l"] * 6) is None
    assert found(*["r"] * 4, *["l"] * 6, strict=True) is not None


def test_where_nothing_was_judged_nothing_can_be_said():
    with pytest.raises(InputError, match=r"cannot test for a regression: of 1 shared task none"):
        found("l", first=attempts("a", "r"))


def test_an_answer_that_means_little_is_said_to():
    comparison = compare(attempts("a", "r", "r", "r"), attempts("b", "r", "r", "l"))
    few, unjudged = doubts(comparison, strict=False)
    assert few.startswith("too few tasks (2) to detect any regression")
    assert unjudged == "no judged attempt: 1 of 3 shared tasks"
    assert doubts(comparison, strict=True) == ()
    assert doubts(compare(WHOLE, WHOLE), strict=False) == ()
