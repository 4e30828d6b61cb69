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
def at_run(monkeypatch) -> Callable[[Callable[[str], None]], None]:
    """Calls back when the tests of a judged run start: of a sealed one or another one."""

    def begin(called: Callable[[str], None]) -> None:
        write, execute, kinds = judged_tests.write_files, judged_tests.execute_tests, {}

        def watched(sandbox, files, **more):
            sealed = b"agentbench_recorder" in files[HIDDEN_FILE].content
            if b"# MARK" in files.get(P("basket.py"), files[HIDDEN_FILE]).content:
                kinds[id(sandbox)] = SEALED if sealed else FINAL
            write(sandbox, files, **more)

        def executed(sandbox, request, **more):
            if id(sandbox) in kinds:
                called(kinds.pop(id(sandbox)))
            return execute(sandbox, request, **more)

        monkeypatch.setattr(judged_tests, "write_files", watched)
        monkeypatch.setattr(judged_tests, "execute_tests", executed)

    return begin


def is_free(lock) -> bool:
    try:
        lock.acquire(timeout=0)
    except LockHeldError:
        return False
    lock.release()
    return True


def places_of(judged, at_run, source=MARKED, **more) -> list[tuple[str, bool, bool]]:
    """For each run of a final test: its kind, and whether another one may be alone, or share."""
    seen = []
    with judged(source=source, **more) as attempt:
        alone, beside = attempt.ready.judging_lock, lambda: attempt.ready.judging_lock(shared=True)
        at_run(lambda kind: seen.append((kind, is_free(alone()), is_free(beside()))))
        go(attempt, "final_test")
        assert is_free(alone())
    return seen


def test_code_with_all_right_values_is_judged_beside_other_such_code(judged, at_run):
    assert places_of(judged, at_run) == [(SEALED, False, True), (FINAL, False, True)]


def test_code_that_gave_wrong_values_sees_the_right_ones_alone(judged, at_run, ready):
    key = ready.task.answer_key.replace(solution_patch=b"")
    task = ready.task.replace(answer_key=key)  # without it there is a final test
    wrong = MARKED.replace("sum(prices)", "sum(prices) + 1")
    assert places_of(judged, at_run, wrong, task=task) == [
        (SEALED, False, True),
        (FINAL, False, False),
    ]


def test_code_whose_tests_are_not_sealed_is_judged_alone(judged, at_run, ready):
    key = ready.task.answer_key.replace(fail_to_pass=())
    task = ready.task.replace(answer_key=key)  # their ids are known afterwards
    seen = places_of(judged, at_run, task=task)
    assert {kind for kind, *_ in seen} == {FINAL}
    assert not any(alone or beside for _, alone, beside in seen)


@pytest.mark.parametrize("level", [ControlLevel.FULL, ControlLevel.SAMPLE])
def test_a_sealed_run_waits_for_a_run_that_is_alone(judged, at_run, level):
    waited = []
    with judged() as attempt:
        attempt.control(level)
        lock = attempt.ready.judging_lock()
        lock.acquire()
        at_run(lambda _kind: waited.append("run"))

        def wait(seconds):
            assert not waited
            waited.append(seconds)
            lock.release()

        attempt.extend = wait
        go(attempt, "final_test")
        assert attempt.controls.sealed.mismatches == ()
    assert waited[1:] == ["run", "run"]


def test_the_wait_ends_with_the_run(judged):
    with judged() as attempt, attempt.ready.judging_lock():
        attempt.extend = lambda _seconds: attempt.cancel.set()
        with pytest.raises(RunCancelled):
            go(attempt, "final_test")


def test_without_controls_a_final_test_waits_for_a_run_that_is_alone(judged):
    waited = []
    with judged() as attempt:
        attempt.control(ControlLevel.OFF)
        with attempt.ready.judging_lock(shared=True):
            go(attempt, "final_test")
        assert attempt.controls.skipped == "turned off"
        lock = attempt.ready.judging_lock()
        lock.acquire()
        attempt.extend = lambda seconds: (waited.append(seconds), lock.release())
        go(attempt, "final_test")
    assert waited
