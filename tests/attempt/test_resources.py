from threading import Thread

import pytest

from agentbench.attempt.resources import LiveStatus
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import StageName


def names(board):
    return [(entry.task_id, entry.attempt) for entry in board.running()]


def test_running_attempt_is_listed_until_its_end():
    board = LiveStatus(clock=iter([5.0, 7.0]).__next__)
    with (
        board.tracked(TaskId("a"), 1) as first,
        board.tracked(TaskId("b"), 2) as second,
    ):
        assert names(board) == [("a", 1), ("b", 2)]
        assert (first.began, second.began) == (5.0, 7.0)
        assert first.stage is None
        first.stage = StageName.AGENT_RUN
        assert board.running()[0].stage is StageName.AGENT_RUN
    assert names(board) == []


def test_raising_attempt_is_removed():
    board = LiveStatus()
    with pytest.raises(KeyError), board.tracked(TaskId("a"), 1):
        raise KeyError
    assert names(board) == []


def test_second_end_removes_nothing_else():
    board = LiveStatus()
    one, other = board.begin(TaskId("a"), 1), board.begin(TaskId("a"), 1)
    board.end(one)
    board.end(one)
    assert board.running() == (other,)


def test_live_status_is_thread_safe():
    board = LiveStatus()

    def work():
        for number in range(2_000):
            with board.tracked(TaskId("a"), number):
                pass

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(board.running()) <= 4
    for thread in threads:
        thread.join()
    assert board.running() == ()
