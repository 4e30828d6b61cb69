"""Which sandboxes with an agent's code and hidden tests of one task run at a time."""

import json
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt import judged_tests
from agentbench.core import file_locks
from agentbench.core.file_locks import LockHeldError
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import PytestOutcome
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import Fault
from tests.e2e.small_task import FIXED, LISTED
from tests.fakes.staging import Desk, go, small_task

FIX = {P("basket.py"): FileContent(content=FIXED.encode(), executable=False)}


def judged(files, emptied=()) -> JudgedChange:
    return JudgedChange(files=files, emptied=emptied, dropped=())


def test_fix_passes_the_hidden_tests(attempt_by, desk):
    with attempt_by() as context:
        context.change = judged(FIX)
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.PASSED
    assert {case.node_id for case in evidence.report.cases} >= set(LISTED)
    assert json.loads(desk.read("final.json"))["summary"]["passed"] == 4


def test_hidden_tests_are_written_last(attempt_by):
    weak = FileContent(content=b"def test_it():\n    pass\n", executable=False)
    with attempt_by() as context:
        context.change = judged({P("tests/test_hidden.py"): weak})
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.FAILED


def test_removed_program_cannot_be_collected(attempt_by):
    with attempt_by() as context:
        context.change = judged({P("basket.py"): None})
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.COLLECTION_ERROR


@pytest.mark.parametrize("level", [ControlLevel.OFF, ControlLevel.FULL])
def test_too_many_files_are_the_agents_fault(attempt_by, tmp_path, level):
    # Its own sandbox is measured now and then, so that an agent may get away with more.
    task = small_task(tmp_path / "tight", environment="files = 1000")
    nothing = FileContent(content=b"", executable=False)
    with attempt_by(task=task) as context:
        context.control(level)
        context.change = judged({P(f"many/{number}"): nothing for number in range(5_000)})
        with pytest.raises(
            DoesNotFitError, match=r"cannot be written: .*limit 1000 files"
        ) as caught:
            go(context, "final_test")
    assert caught.value.fault == Fault.AGENT


def test_final_test_starts_from_the_prepared_state(attempt_by):
    with attempt_by() as context:
        context.change = judged(FIX)
        go(context, "final_test")
        context.change = None
        evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.outcome is PytestOutcome.FAILED


def test_unwritable_change_raises(attempt_by):
    with attempt_by() as context:
        context.change = judged({P("../outside"): FIX[P("basket.py")]})
        with pytest.raises(SandboxError):
            go(context, "final_test")


HIDDEN_FILE, SEALED, FINAL = P("tests/test_hidden.py"), "sealed", "final"
MARKED = f"{FIXED}# MARK: not the reference solution\n"


@pytest.fixture(autouse=True)
def own_locks(monkeypatch, tmp_path):
    monkeypatch.setattr(file_locks, "_SHARED_FOLDERS", (str(tmp_path),))


@pytest.fixture
def turn_judged(attempt_by, tmp_path):
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


def places_of(turn_judged, at_run, source=MARKED, **more) -> list[tuple[str, bool, bool]]:
    """For each run of a final test: its kind, and whether another one may be alone, or share."""
    seen = []
    with turn_judged(source=source, **more) as attempt:
        alone, beside = attempt.ready.judging_lock, lambda: attempt.ready.judging_lock(shared=True)
        at_run(lambda kind: seen.append((kind, is_free(alone()), is_free(beside()))))
        go(attempt, "final_test")
        assert is_free(alone())
    return seen


def test_proven_code_shares_the_judging_lock(turn_judged, at_run):
    assert places_of(turn_judged, at_run) == [(SEALED, False, True), (FINAL, False, True)]


def test_code_with_wrong_values_is_judged_alone(turn_judged, at_run, ready):
    key = ready.task.answer_key.replace(solution_patch=b"")
    task = ready.task.replace(answer_key=key)  # without it there is a final test
    wrong = MARKED.replace("sum(prices)", "sum(prices) + 1")
    assert places_of(turn_judged, at_run, wrong, task=task) == [
        (SEALED, False, True),
        (FINAL, False, False),
    ]


def test_unsealed_tests_are_judged_alone(turn_judged, at_run, ready):
    key = ready.task.answer_key.replace(fail_to_pass=())
    task = ready.task.replace(answer_key=key)  # their ids are known afterwards
    seen = places_of(turn_judged, at_run, task=task)
    assert {kind for kind, *_ in seen} == {FINAL}
    assert not any(alone or beside for _, alone, beside in seen)


@pytest.mark.parametrize("level", [ControlLevel.FULL, ControlLevel.SAMPLE])
def test_sealed_run_waits_for_an_exclusive_run(turn_judged, at_run, level):
    waited = []
    with turn_judged() as attempt:
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


def test_cancel_ends_the_wait_for_the_lock(turn_judged):
    with turn_judged() as attempt, attempt.ready.judging_lock():
        attempt.extend = lambda _seconds: attempt.cancel.set()
        with pytest.raises(RunCancelled):
            go(attempt, "final_test")


def test_final_test_without_controls_waits_for_an_exclusive_run(turn_judged):
    waited = []
    with turn_judged() as attempt:
        attempt.control(ControlLevel.OFF)
        with attempt.ready.judging_lock(shared=True):
            go(attempt, "final_test")
        assert attempt.controls.skipped == "turned off"
        lock = attempt.ready.judging_lock()
        lock.acquire()
        attempt.extend = lambda seconds: (waited.append(seconds), lock.release())
        go(attempt, "final_test")
    assert waited
