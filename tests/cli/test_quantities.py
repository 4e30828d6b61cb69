from datetime import timedelta

import pytest

from agentbench.cli.quantities import format_size, parse_duration, parse_rate, parse_size
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
        ("90s", timedelta(seconds=90)),
        ("90m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2 w", timedelta(weeks=2)),
    ],
)
def test_durations_are_read_as_they_are_written(text, age):
    assert parse_duration(text) == age


@pytest.mark.parametrize(
    "text", ["", "30", "d", "-1d", "1.d", "30 days", "30D", "nan", "inf", "1e300"]
)
def test_what_is_no_duration_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match="is not a duration; write it like 90s, 15m, 12h, 30d or"):
        parse_duration(text)


def test_a_duration_without_an_end_is_refused():
    with pytest.raises(UsageError, match="'70001d' is longer than 10000w, the longest duration"):
        parse_duration("70001d")


def test_a_number_without_a_unit_has_the_unit_that_it_always_had():
    assert parse_duration("5", bare_unit="m") == timedelta(minutes=5)
    assert parse_duration("0.5", bare_unit="s") == timedelta(seconds=0.5)
    assert parse_duration("5s", bare_unit="m") == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("text", "rate"), [("80%", 0.8), ("0%", 0), ("100 %", 1), ("12.5%", 0.125), ("0.8", 0.8)]
)
def test_rates_are_read_as_they_are_written(text, rate):
    assert parse_rate(text) == rate


def test_a_number_without_a_sign_may_be_a_percentage():
    assert parse_rate("90", bare_is_percent=True) == parse_rate("90%") == 0.9
    assert parse_rate("0.5", bare_is_percent=True) == 0.005


@pytest.mark.parametrize("text", ["", "2", "101%", "-1%", "nan", "%", "1e-1"])
def test_what_is_no_rate_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match="is not a rate; write it like 80%, from 0% to 100%"):
        parse_rate(text)


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
