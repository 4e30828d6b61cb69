"""Which sandboxes with an agent's code and hidden tests of one task run at a time."""

import threading
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.stages import judged_tests
from agentbench.core import file_locks
from agentbench.core.choices import ControlLevel
from agentbench.core.file_locks import LockHeldError
from agentbench.core.files import FileContent
from agentbench.errors import RunCancelled
from agentbench.integrity.protection import JudgedChange
from tests.e2e.small_task import FIXED, HIDDEN, LISTED
from tests.fakes.staging import Desk, go, small_task
from tests.patience import HANG_SECONDS, wait_until

HIDDEN_FILE, SEALED, FINAL = P("tests/test_hidden.py"), "sealed", "final"
MARKED = f"{FIXED}# MARK: not the reference solution\n"
UNSEALED = "tests/test_hidden.py::test_nothing_is_compared"


@pytest.fixture(autouse=True)
def own_locks(monkeypatch, tmp_path):
    """Locks that no other test has: several judge the same task at the same time."""
    monkeypatch.setattr(file_locks, "_SHARED_FOLDERS", (str(tmp_path),))


@pytest.fixture
def judged(attempt_by, tmp_path):
    """Opens attempts of one task that are ready for their final test, with a correct fix."""

    @contextmanager
    def opened(name="one", source=MARKED, **more):
        with attempt_by(**more) as attempt:
            attempt.control(ControlLevel.FULL)
            attempt.baseline = go(attempt, "baseline_run")
            file = FileContent(content=source.encode(), executable=False)
            attempt.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
            attempt.desk = Desk(tmp_path / name)
            attempt.desk.folder.mkdir()
            yield attempt

    return opened


@pytest.fixture
def at_writing(monkeypatch) -> Callable[[Callable[[str], None]], None]:
    """Calls back when the sandbox of a judged run gets its files: of a sealed or another run."""

    def begin(called: Callable[[str], None]) -> None:
        write = judged_tests.write_files

        def watched(sandbox, files, **more):
            sealed = b"agentbench_recorder" in files[HIDDEN_FILE].content
            if b"# MARK" in files.get(P("basket.py"), files[HIDDEN_FILE]).content:
                called(SEALED if sealed else FINAL)
            write(sandbox, files, **more)

        monkeypatch.setattr(judged_tests, "write_files", watched)

    return begin


def is_free(lock) -> bool:
    try:
        lock.acquire(timeout=0)
    except LockHeldError:
        return False
    lock.release()
    return True


def in_thread(stack: ExitStack, work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    stack.callback(thread.join)
    return thread


def test_final_tests_of_right_values_run_at_the_same_time_and_sealed_runs_do_not(
    judged, at_writing
):
    both = threading.Barrier(2, timeout=HANG_SECONDS)
    seen = []
    with judged("one") as one, judged("two") as two:

        def called(kind):
            seen.append((kind, is_free(one.ready.judging_lock(shared=True))))
            if kind == FINAL:
                both.wait()

        at_writing(called)
        with ExitStack() as stack:
            in_thread(stack, lambda: go(one, "final_test"))
            go(two, "final_test")
        assert {attempt.controls.sealed.mismatches for attempt in (one, two)} == {()}
    assert (SEALED, True) not in seen
    assert [free for kind, free in seen if kind == FINAL] == [True, True]
    assert not both.broken


def test_a_final_test_waits_while_a_sealed_run_of_another_attempt_does(judged):
    waited = threading.Event()
    with judged() as attempt, ExitStack() as stack:
        attempt.extend = lambda _seconds: waited.set()
        with attempt.ready.judging_queue(shared=True):
            in_thread(stack, lambda: go(attempt, "final_test"))
            wait_until(waited.is_set)
            names = {path.name for path in attempt.desk.folder.iterdir()}
            assert "sealed.json" in names
            assert "final.json" not in names
        wait_until((attempt.desk.folder / "final.json").exists)


def test_the_wait_for_the_final_test_ends_with_the_run(judged):
    with judged() as attempt:
        attempt.extend = lambda _seconds: attempt.cancel.set()
        with attempt.ready.judging_queue(shared=True), pytest.raises(RunCancelled):
            go(attempt, "final_test")
        assert is_free(attempt.ready.judging_lock())


@pytest.mark.parametrize("listed", [(*LISTED, UNSEALED), ()], ids=["one unsealed", "none listed"])
def test_an_attempt_that_is_not_fully_sealed_is_judged_alone(judged, at_writing, tmp_path, listed):
    hidden = f"{HIDDEN}\n\ndef test_nothing_is_compared():\n    basket.total([1])\n"
    task = small_task(tmp_path / "unsealed", hidden=hidden, fail_to_pass=listed)
    seen = []
    with judged(task=task) as attempt:
        lock = attempt.ready.judging_lock(shared=True)
        at_writing(lambda kind: seen.append((kind, is_free(lock))))
        go(attempt, "final_test")
    assert FINAL in dict(seen)
    assert not any(free for _, free in seen)
