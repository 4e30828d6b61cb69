from datetime import datetime, timedelta, timezone

import pytest

from cronwalk.zones import CENTRAL_EUROPE, SYDNEY, US_EASTERN


@pytest.mark.parametrize(
    ("zone", "utc", "local"),
    [
        (CENTRAL_EUROPE, (2025, 3, 30, 0, 59), "2025-03-30 01:59:00+01:00"),
        (CENTRAL_EUROPE, (2025, 3, 30, 1, 0), "2025-03-30 03:00:00+02:00"),
        (CENTRAL_EUROPE, (2025, 10, 26, 0, 59), "2025-10-26 02:59:00+02:00"),
        (CENTRAL_EUROPE, (2025, 10, 26, 1, 0), "2025-10-26 02:00:00+01:00"),
        (US_EASTERN, (2025, 3, 9, 7, 0), "2025-03-09 03:00:00-04:00"),
        (US_EASTERN, (2025, 11, 2, 6, 0), "2025-11-02 01:00:00-05:00"),
        (SYDNEY, (2025, 1, 1, 0, 0), "2025-01-01 11:00:00+11:00"),
        (SYDNEY, (2025, 4, 5, 16, 0), "2025-04-06 02:00:00+10:00"),
        (SYDNEY, (2025, 10, 4, 16, 0), "2025-10-05 03:00:00+11:00"),
    ],
)
def test_from_utc(zone, utc, local):
    assert str(datetime(*utc, tzinfo=timezone.utc).astimezone(zone)) == local


@pytest.mark.parametrize("zone", [CENTRAL_EUROPE, US_EASTERN, SYDNEY])
def test_there_and_back_at_every_hour_of_a_year(zone):
    moment = datetime(2025, 1, 1, tzinfo=timezone.utc)
    for _ in range(365 * 24):
        assert moment.astimezone(zone).astimezone(timezone.utc) == moment
        moment += timedelta(hours=1)


def test_names():
    assert datetime(2025, 7, 1, tzinfo=US_EASTERN).tzname() == "US Eastern summer time"
    assert datetime(2025, 12, 1, tzinfo=US_EASTERN).tzname() == "US Eastern time"
