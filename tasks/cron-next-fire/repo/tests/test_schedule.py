from datetime import date, datetime, timedelta, timezone
from itertools import islice

import pytest

from cronwalk import NeverFires, Schedule
from cronwalk.zones import CENTRAL_EUROPE

UTC = timezone.utc


def fires(expression, after, count):
    return [str(t) for t in islice(Schedule.parse(expression).fires_after(after), count)]


def test_the_next_minute():
    after = datetime(2025, 6, 1, 12, 0, 30, tzinfo=UTC)
    assert Schedule.parse("* * * * *").next_after(after) == datetime(2025, 6, 1, 12, 1, tzinfo=UTC)


def test_a_matching_moment_itself_is_not_later():
    after = datetime(2025, 6, 1, 12, tzinfo=UTC)
    assert fires("0 12 * * *", after, 1) == ["2025-06-02 12:00:00+00:00"]


def test_steps_run_over_the_end_of_the_day():
    after = datetime(2025, 12, 31, 23, 20, tzinfo=UTC)
    assert fires("*/30 * * * *", after, 3) == [
        "2025-12-31 23:30:00+00:00",
        "2026-01-01 00:00:00+00:00",
        "2026-01-01 00:30:00+00:00",
    ]


def test_working_days():
    friday = datetime(2025, 6, 6, 18, tzinfo=UTC)
    assert fires("0 9 * * mon-fri", friday, 2) == [
        "2025-06-09 09:00:00+00:00",
        "2025-06-10 09:00:00+00:00",
    ]


def test_either_kind_of_day_is_enough_if_both_are_restricted():
    schedule = Schedule.parse("0 0 13 * fri")
    days = [day for day in range(1, 32) if schedule.matches_day(date(2025, 5, day))]
    assert days == [2, 9, 13, 16, 23, 30]


def test_a_starred_day_does_not_count_as_restricted():
    schedule = Schedule.parse("0 0 */10 * fri")
    days = [day for day in range(1, 32) if schedule.matches_day(date(2025, 8, day))]
    assert days == [1]


def test_leap_days_are_found():
    after = datetime(2025, 1, 1, tzinfo=UTC)
    assert fires("0 0 29 2 *", after, 2) == [
        "2028-02-29 00:00:00+00:00",
        "2032-02-29 00:00:00+00:00",
    ]


def test_days_that_never_come():
    with pytest.raises(NeverFires, match="after 2025-01-01"):
        Schedule.parse("0 0 30 2 *").next_after(datetime(2025, 1, 1, tzinfo=UTC))


def test_a_time_zone_is_needed():
    with pytest.raises(ValueError, match="needs a time zone"):
        Schedule.parse("* * * * *").next_after(datetime(2025, 1, 1))


def test_fixed_offsets():
    zone = timezone(timedelta(hours=5, minutes=30))
    assert fires("0 6 * * *", datetime(2025, 1, 1, 6, tzinfo=zone), 1) == [
        "2025-01-02 06:00:00+05:30"
    ]


def test_a_daily_job_keeps_its_hour_when_clocks_change():
    after = datetime(2025, 10, 25, 9, tzinfo=CENTRAL_EUROPE)
    assert fires("0 8 * * *", after, 2) == [
        "2025-10-26 08:00:00+01:00",
        "2025-10-27 08:00:00+01:00",
    ]


def test_skipped_readings_do_not_fire():
    after = datetime(2025, 3, 30, 1, 40, tzinfo=CENTRAL_EUROPE)
    assert fires("*/30 * * * *", after, 2) == [
        "2025-03-30 03:00:00+02:00",
        "2025-03-30 03:30:00+02:00",
    ]


def test_matches():
    schedule = Schedule.parse("30 6 * jul *")
    assert schedule.matches(datetime(2025, 7, 4, 6, 30, 59))
    assert not schedule.matches(datetime(2025, 6, 4, 6, 30))
