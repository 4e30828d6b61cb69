import pytest

from agentbench.report import formatting
from agentbench.report.summary import Rate
from agentbench.scoring.statistics import Interval


def test_a_rate_has_its_counts_and_its_share():
    assert formatting.share(Rate(resolved=1, total=3)) == "1/3 (33.3 %)"
    assert formatting.share(Rate(resolved=0, total=0)) == "0/0"
    assert formatting.interval(Interval(0.061, 0.7923)) == "6.1\u201379.2 %"


@pytest.mark.parametrize(
    ("amount", "shown"), [(None, "\u2013"), (0.01234, "$0.0123"), (12.345, "$12.35")]
)
def test_unknown_money_is_a_dash_and_little_money_has_its_digits(amount, shown):
    assert formatting.usd(amount) == shown


def test_large_numbers_are_grouped():
    assert formatting.whole(1234567.8) == "1,234,568"
    assert formatting.seconds(1234.5) == "1,234 s"
    assert formatting.whole(None) == formatting.seconds(None) == "\u2013"
