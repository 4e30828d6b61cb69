from threading import Event

import pytest

from agentbench.core import background_tasks
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.errors import SandboxError
from tests.patience import HANG_SECONDS


def test_a_result_is_there_when_it_is_wanted():
    beside = BackgroundTasks()
    assert beside.submit(lambda: 42).result() == 42
    beside.finish()


def test_what_fails_is_told_to_whoever_wants_the_result():
    beside = BackgroundTasks()
    begun = beside.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        begun.result()
    beside.finish()


def test_the_end_waits_for_removals():
    beside, removed = BackgroundTasks(), []
    go_on = Event()
    for number in range(50):
        beside.remove(lambda number=number: (go_on.wait(), removed.append(number)))
    assert removed == []
    go_on.set()
    beside.finish()
    assert sorted(removed) == list(range(50))


def test_the_end_waits_for_what_is_begun_meanwhile():
    beside, done = BackgroundTasks(), []
    beside.submit(lambda: beside.remove(lambda: done.append("late")))
    beside.finish()
    assert done == ["late"]


def test_what_cannot_be_removed_is_said(caplog):
    def fails() -> None:
        raise SandboxError("the engine is lost")

    beside = BackgroundTasks()
    beside.remove(fails)
    beside.finish()
    [said] = caplog.messages
    assert said == "a sandbox is left behind (the engine is lost); the next start removes it"


def test_whoever_is_faster_than_removals_waits_for_them(monkeypatch):
    monkeypatch.setattr(background_tasks, "_MAX_PENDING", 2)
    beside, go_on = BackgroundTasks(), Event()
    for _ in range(2):
        beside.remove(go_on.wait)
    third = BackgroundTasks().submit(lambda: beside.remove(lambda: None))
    assert not third.done()
    go_on.set()
    third.result(HANG_SECONDS)
    beside.finish()


def test_it_can_be_used_again_after_its_end():
    beside = BackgroundTasks()
    for _ in range(2):
        assert beside.submit(lambda: "there").result() == "there"
        beside.finish()
    beside.finish()  # with nothing under way
