"""Shares in a thing: many may have one, and it is removed only when nobody has."""

from pathlib import Path

import pytest

from agentbench.core.file_locks import SharedLock, creation_lock, removal_lock


@pytest.fixture
def thing(tmp_path: Path) -> Path:
    return tmp_path / "thing"


def test_many_may_use_it_at_a_time(thing: Path) -> None:
    assert len([SharedLock(thing) for _ in range(3)]) == 3


def test_it_may_be_removed_when_nobody_uses_it(thing: Path) -> None:
    with removal_lock(thing) as allowed:
        assert allowed


def test_it_may_not_be_removed_while_somebody_uses_it(thing: Path) -> None:
    use = SharedLock(thing)
    with removal_lock(thing) as allowed:
        assert not allowed
    del use
    with removal_lock(thing) as allowed:
        assert allowed


def test_it_may_not_be_removed_while_somebody_makes_it(thing: Path) -> None:
    with creation_lock(thing), removal_lock(thing) as allowed:
        assert not allowed


def test_it_may_not_be_made_while_somebody_removes_it(thing: Path) -> None:
    with removal_lock(thing) as allowed:
        assert allowed
        with removal_lock(thing) as other:
            assert not other


def test_whoever_makes_it_waits_for_no_user(thing: Path) -> None:
    use = SharedLock(thing)
    with creation_lock(thing):
        other = SharedLock(thing)
    assert use is not other
