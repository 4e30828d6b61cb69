from threading import Event

from agentbench.core import background_tasks
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.errors import SandboxError
from tests.patience import HANG_SECONDS


def test_future_holds_the_result():
    background = BackgroundTasks()
    assert background.submit(lambda: 42).result() == 42
    background.finish()


def test_the_end_waits_for_removals():
    background, removed = BackgroundTasks(), []
    go_on = Event()
    for number in range(50):
        background.remove(lambda number=number: (go_on.wait(), removed.append(number)))
    assert removed == []
    go_on.set()
    background.finish()
    assert sorted(removed) == list(range(50))


def test_finish_waits_for_work_started_meanwhile():
    background, done = BackgroundTasks(), []
    background.submit(lambda: background.remove(lambda: done.append("late")))
    background.finish()
    assert done == ["late"]


def test_failed_removal_is_logged(caplog):
    def fails() -> None:
        raise SandboxError("the engine is lost")

    background = BackgroundTasks()
    background.remove(fails)
    background.finish()
    [reported] = caplog.messages
    assert reported == "a sandbox is left behind (the engine is lost); the next start removes it"


def test_remove_waits_beyond_the_pending_limit(monkeypatch):
    monkeypatch.setattr(background_tasks, "_MAX_PENDING", 2)
    background, go_on = BackgroundTasks(), Event()
    for _ in range(2):
        background.remove(go_on.wait)
    third = BackgroundTasks().submit(lambda: background.remove(lambda: None))
    assert not third.done()
    go_on.set()
    third.result(HANG_SECONDS)
    background.finish()


def test_pool_is_usable_after_finish():
    background = BackgroundTasks()
    for _ in range(2):
        assert background.submit(lambda: "there").result() == "there"
        background.finish()
    background.finish()  # with nothing under way
