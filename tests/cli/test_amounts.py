from datetime import timedelta

import pytest

from agentbench.cli.clean import format_size, parse_age, parse_size
from agentbench.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0B", 0),
        ("500MB", 500_000_000),
        ("20GB", 20_000_000_000),
        ("20GiB", 20 * 2**30),
        ("1.5 GB", 1_500_000_000),
        ("3kB", 3000),
        ("2TiB", 2 * 2**40),
    ],
)
def test_sizes_are_read_as_they_are_written(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "20", "20G", "GB", "-1GB", "1e3MB", "20gb", "1,5GB", "20GB ", "nanB", "\u0661GB"]
)
def test_what_is_no_size_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match="is not a size; write it like 500MB, 20GB or 20GiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2 w", timedelta(weeks=2)),
    ],
)
def test_ages_are_read_as_they_are_written(text, age):
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "30 days", "30D", "9999999d"])
def test_what_is_no_age_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match="is not an age; write it like 12h, 30d or 2w"):
        parse_age(text)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (2 * 10**9, "2.0 GB"),
        (3 * 10**15, "3000.0 TB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_reads_best(size, shown):
    assert format_size(size) == shown
