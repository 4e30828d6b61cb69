import pytest

from cronwalk import CronError, Schedule
from cronwalk.fields import HOUR, MINUTE, MONTH, WEEKDAY, parse_field


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("*/20", MINUTE, [0, 20, 40]),
        ("5", MINUTE, [5]),
        ("1,3,5-7", HOUR, [1, 3, 5, 6, 7]),
        ("10-40/10", MINUTE, [10, 20, 30, 40]),
        ("50/4", MINUTE, [50, 54, 58]),
        ("Jan,oct-DEC", MONTH, [1, 10, 11, 12]),
        ("fri-7", WEEKDAY, [0, 5, 6]),
        ("sun", WEEKDAY, [0]),
    ],
)
def test_fields(text, kind, values):
    assert list(parse_field(text, kind)) == values


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("* * * *", "expected 5 fields, found 4"),
        ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("* * 0 * *", "day of month: 0 is not between 1 and 31"),
        ("*/0 * * * *", "minute: '0' is not a step"),
        ("* * * foo *", "month: 'foo' is not a number"),
        ("* 5-3 * * *", "hour: the range 5-3 runs backwards"),
        ("@often", "expected 5 fields, found 1"),
    ],
)
def test_bad_expressions(expression, message):
    with pytest.raises(CronError, match=message):
        Schedule.parse(expression)


def test_shorthands():
    assert Schedule.parse("@Weekly") == Schedule.parse("0 0 * * 0")
