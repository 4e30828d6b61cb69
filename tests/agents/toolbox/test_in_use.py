"""Shares in a thing: many may have one, and who wants it alone waits for them all."""

import threading
from pathlib import Path

from agentbench.agents.toolbox.in_use import Use, removing


def test_many_may_use_it_at_a_time(tmp_path: Path) -> None:
    uses = [Use(tmp_path / "lock") for _ in range(3)]
    assert len(uses) == 3


def test_it_may_be_removed_when_nobody_uses_it(tmp_path: Path) -> None:
    with removing(tmp_path / "lock") as allowed:
        assert allowed


def test_it_may_not_be_removed_while_somebody_uses_it(tmp_path: Path) -> None:
    use = Use(tmp_path / "lock")
    with removing(tmp_path / "lock") as allowed:
        assert not allowed
    del use
    with removing(tmp_path / "lock") as allowed:
        assert allowed


def test_two_may_want_it_alone_and_get_it_in_turn(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        use = Use(tmp_path / "lock")
        with use.alone():
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_whoever_has_it_alone_keeps_removers_out(tmp_path: Path) -> None:
    use = Use(tmp_path / "lock")
    with use.alone(), removing(tmp_path / "lock") as allowed:
        assert not allowed
