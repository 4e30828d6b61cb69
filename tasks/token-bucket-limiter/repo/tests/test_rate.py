import pytest

from tollgate import Rate


@pytest.mark.parametrize(
    ("text", "count", "period_ns"),
    [
        ("10/s", 10, 1_000_000_000),
        ("100 / min", 100, 60_000_000_000),
        ("5/200ms", 5, 200_000_000),
        ("1/2H", 1, 7_200_000_000_000),
    ],
)
def test_rates(text, count, period_ns):
    assert Rate.parse(text) == Rate(count, period_ns)


@pytest.mark.parametrize("text", ["10", "s/10", "1.5/s", "10/fortnight", "-1/s"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="not a rate"):
        Rate.parse(text)


def test_nothing_is_no_rate():
    with pytest.raises(ValueError, match="above 0"):
        Rate.parse("0/s")
