import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.cli.cache_entries import CacheEntry, plan_eviction

MIB = 2**20


@pytest.fixture
def thing(tmp_path: Path):
    """Makes a thing of some whole MiB of its own, and of files it shares with others."""

    def made(name: str, mib: int, *, used_at: float, in_use: bool = False, shares: str = ""):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own").write_bytes(os.urandom(mib * MIB))
        if shares:
            os.link(tmp_path / shares / "own", folder / "shared")
        return CacheEntry(
            kind="mirror", name=name, used_at=used_at, in_use=in_use, folders=(folder,)
        )

    return made


def goes(fates) -> list[str]:
    return [fate.entry.name for fate in fates if fate.goes]


def test_the_least_recently_used_go_until_the_rest_fits(thing):
    things = [thing(name, 2, used_at=at) for name, at in (("b", 2), ("a", 1), ("c", 3))]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=None)) == ["a", "b"]
    assert goes(plan_eviction(things, keep_bytes=7 * MIB, unused_since=None)) == []
    assert goes(plan_eviction(things, keep_bytes=0, unused_since=None)) == ["a", "b", "c"]
    fates = plan_eviction(things, keep_bytes=None, unused_since=None)
    assert [fate.entry.name for fate in fates] == ["a", "b", "c"]
    assert goes(fates) == []


def test_what_is_in_use_stays_and_the_next_one_goes(thing):
    things = [thing("a", 2, used_at=1, in_use=True), thing("b", 2, used_at=2)]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=9)) == ["b"]


def test_age_alone_and_age_with_size(thing):
    things = [thing(name, 2, used_at=at) for at, name in enumerate("abc")]
    assert goes(plan_eviction(things, keep_bytes=None, unused_since=1)) == ["a"]
    assert goes(plan_eviction(things, keep_bytes=3 * MIB, unused_since=1)) == ["a", "b"]


def test_a_file_that_two_share_is_free_when_both_are_gone(thing):
    base = thing("base", 4, used_at=1)
    top = thing("top", 1, used_at=2, shares="base")
    first, second = plan_eviction([base, top], keep_bytes=0, unused_since=None)
    assert first.size_bytes < MIB
    assert 5 * MIB <= second.size_bytes < 6 * MIB
    kept = plan_eviction([base, top], keep_bytes=6 * MIB, unused_since=None)
    assert goes(kept) == [], "together they take five"


def test_what_lies_in_an_engine_counts_too():
    things = [
        CacheEntry(kind="preparation", name=name, used_at=at, in_use=False, elsewhere_bytes=10)
        for at, name in enumerate("abc")
    ]
    assert goes(plan_eviction(things, keep_bytes=15, unused_since=None)) == ["a", "b"]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.booleans()), max_size=8),
    st.integers(0, 300),
)
def test_what_is_left_fits_or_is_in_use_and_nothing_goes_in_vain(rows, keep):
    things = [
        CacheEntry(kind="x", name=str(n), used_at=at, in_use=used, elsewhere_bytes=size)
        for n, (at, size, used) in enumerate(rows)
    ]
    fates = plan_eviction(things, keep_bytes=keep, unused_since=None)
    left = [fate for fate in fates if not fate.goes]
    rest = sum(fate.size_bytes for fate in left)
    assert rest <= keep or all(fate.entry.in_use for fate in left)
    gone = [fate for fate in fates if fate.goes]
    if gone:
        assert rest + gone[-1].size_bytes > keep, "the last one had to go"
