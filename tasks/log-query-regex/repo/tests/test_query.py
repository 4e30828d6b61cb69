import io

import pytest

from logq import Query, QueryError, parse_record
from logq.__main__ import main

LOG = """\
ts=10:00:01 level=info svc=api msg="started" ms=12
ts=10:00:03 level=error svc=api msg="upstream timed out" ms=3021
ts=10:00:04 level=error svc=web msg="said \\"no\\"" ms=7
ts=10:00:09 level=warn svc=db msg=time-out
"""


def selected(query):
    return [line.split()[0] for line in Query(query).select(LOG.splitlines())]


def test_pairs_are_read():
    record = parse_record('a=1 junk b="two words" c="q\\"x\\n" d= a=3')
    assert record == {"a": "3", "b": "two words", "c": 'q"x\n', "d": ""}


def test_equality():
    assert selected("svc=api") == ["ts=10:00:01", "ts=10:00:03"]
    assert selected("ms!=12") == ["ts=10:00:03", "ts=10:00:04", "ts=10:00:09"]
    assert selected('msg="upstream timed out"') == ["ts=10:00:03"]


def test_numbers():
    assert selected("ms>=12") == ["ts=10:00:01", "ts=10:00:03"]
    assert selected("ms < 10") == ["ts=10:00:04"]


def test_patterns():
    assert selected('msg~"time(d |-)?out"') == ["ts=10:00:03", "ts=10:00:09"]
    assert selected(r'msg!~"^\w+$"') == ["ts=10:00:03", "ts=10:00:04", "ts=10:00:09"]
    assert selected(r'msg~"\"no\""') == ["ts=10:00:04"]
    assert selected("nothing~x") == []


def test_and_binds_tighter_than_or():
    assert selected("svc=db or level=error and svc=web") == ["ts=10:00:04", "ts=10:00:09"]
    assert selected("(svc=db or level=error) and svc=web") == ["ts=10:00:04"]


def test_not():
    assert selected("not level=error and not svc=db") == ["ts=10:00:01"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "a test is wanted, not 'the end'"),
        ("level", "cannot read 'level'"),
        ("(a=1", r"a \( without its \)"),
        ("a=1 b=2", "cannot make sense of 'b=2'"),
        ("a<x", "a is compared with 'x', which is no number"),
        ('a~"("', "the pattern for a: "),
    ],
    ids=["empty", "word", "open", "two", "number", "pattern"],
)
def test_a_query_that_cannot_be_read_is_refused(query, message):
    with pytest.raises(QueryError, match=message):
        Query(query)


def test_the_command_prints_what_it_found(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(LOG))
    assert main(["svc=db"]) == 0
    assert capsys.readouterr().out == "ts=10:00:09 level=warn svc=db msg=time-out\n"


def test_the_command_says_that_it_found_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(LOG))
    assert main(["svc=none"]) == 1
    assert main(["svc"]) == 2
    assert capsys.readouterr().err == "logq: cannot read 'svc' in 'svc'\n"
