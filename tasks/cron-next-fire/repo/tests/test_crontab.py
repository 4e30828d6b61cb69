from datetime import datetime, timezone

import pytest

from cronwalk import CronError, Crontab

TABLE = """
# minute hour day month weekday command
*/20 * * * *   collect --all
@daily         rotate logs
0 1 * * *      backup
"""


def test_jobs_come_in_the_order_of_time():
    since = datetime(2025, 5, 31, 23, 30, tzinfo=timezone.utc)
    until = datetime(2025, 6, 1, 1, 0, tzinfo=timezone.utc)
    due = [(f"{t:%H:%M}", command) for t, command in Crontab.parse(TABLE).due(since, until)]
    assert due == [
        ("23:40", "collect --all"),
        ("00:00", "collect --all"),
        ("00:00", "rotate logs"),
        ("00:20", "collect --all"),
        ("00:40", "collect --all"),
        ("01:00", "collect --all"),
        ("01:00", "backup"),
    ]


def test_bad_lines_are_named():
    with pytest.raises(CronError, match="line 2: expected 5 fields, found 3"):
        Crontab.parse("@daily x\n* * * echo\n")
