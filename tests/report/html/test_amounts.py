import pytest

from agentbench.report.html import amounts
from agentbench.report.summary import Rate
from agentbench.scoring.statistics import Interval


def test_a_rate_has_its_counts_and_its_share():
    assert amounts.share(Rate(resolved=1, total=3)) == "1/3 (33.3 %)"
    assert amounts.share(Rate(resolved=0, total=0)) == "0/0"
    assert amounts.interval(Interval(0.061, 0.7923)) == "6.1\u201379.2 %"


def test_differences_bear_their_sign():
    assert amounts.points(0.125) == "+12.5 points"
    assert amounts.points(-0.125) == "\u221212.5 points"
    assert amounts.span(Interval(-0.05, 0.1)) == "\u22125.0 to +10.0 points"


@pytest.mark.parametrize(
    ("amount", "shown"), [(None, "\u2013"), (0.01234, "$0.0123"), (12.345, "$12.35")]
)
def test_unknown_money_is_a_dash_and_little_money_has_its_digits(amount, shown):
    assert amounts.usd(amount) == shown


def test_large_numbers_are_grouped():
    assert amounts.whole(1234567.8) == "1,234,568"
    assert amounts.seconds(1234.5) == "1,234 s"
    assert amounts.whole(None) == amounts.seconds(None) == "\u2013"


@pytest.mark.parametrize(("value", "shown"), [(0.04999, "p = 0.050"), (0.0009, "p < 0.001")])
def test_a_tiny_p_value_is_not_zero(value, shown):
    assert amounts.p_value(value) == shown
