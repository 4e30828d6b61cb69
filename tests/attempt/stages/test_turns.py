"""Which sandboxes with an agent's code and hidden tests of one task run at a time."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt import judged_tests
from agentbench.core import file_locks
from agentbench.core.file_locks import LockHeldError
from agentbench.core.files import FileContent
from agentbench.errors import RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.tasks.control_level import ControlLevel
from tests.e2e.small_task import FIXED
from tests.fakes.staging import Desk, go

HIDDEN_FILE, SEALED, FINAL = P("tests/test_hidden.py"), "sealed", "final"
MARKED = f"{FIXED}# MARK: not the reference solution\n"


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


def test_final_tests_and_sealed_runs_of_a_task_come_one_at_a_time(judged, at_writing):
    seen = []
    with judged() as attempt:
        lock = attempt.ready.judging_lock()
        at_writing(lambda kind: seen.append((kind, is_free(lock))))
        go(attempt, "final_test")
        assert is_free(lock)
    assert seen == [(SEALED, False), (FINAL, False)]


@pytest.mark.parametrize("level", [ControlLevel.FULL, ControlLevel.SAMPLE])
def test_an_attempt_waits_for_the_one_that_is_judged(judged, level):
    waited = []
    with judged() as attempt:
        attempt.control(level)
        lock = attempt.ready.judging_lock()
        lock.acquire()

        def wait(seconds):
            waited.append(seconds)
            assert not (attempt.desk.folder / "sealed.json").exists()
            lock.release()

        attempt.extend = wait
        go(attempt, "final_test")
        assert attempt.controls.sealed.mismatches == ()
    assert waited


def test_the_wait_ends_with_the_run(judged):
    with judged() as attempt, attempt.ready.judging_lock():
        attempt.extend = lambda _seconds: attempt.cancel.set()
        with pytest.raises(RunCancelled):
            go(attempt, "final_test")


def test_without_controls_nobody_waits(judged):
    with judged() as attempt, attempt.ready.judging_lock():
        attempt.control(ControlLevel.OFF)
        go(attempt, "final_test")
        assert attempt.controls.skipped == "turned off"
