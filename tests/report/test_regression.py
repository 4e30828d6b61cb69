import pytest

from agentbench.errors import InputError
from agentbench.report.comparison import compare, doubts, regression
from tests.report.several import attempts

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
    with pytest.raises(InputError, match="cannot test for a regression: none of 1 shared tasks"):
        found("l", first=attempts("a", "r"))


def test_an_answer_that_means_little_is_said_to():
    comparison = compare(attempts("a", "r", "r", "r"), attempts("b", "r", "r", "l"))
    few, unjudged = doubts(comparison, strict=False)
    assert few.startswith("2 tasks are too few to detect any regression")
    assert unjudged == "1 of 3 shared tasks have no judged attempt"
    assert doubts(comparison, strict=True) == ()
    assert doubts(compare(WHOLE, WHOLE), strict=False) == ()
