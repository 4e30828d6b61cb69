import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest

from agentbench.attempt.outages import (
    CircuitBreaker,
    Requirement,
    fault_of,
    free_space_fault,
    requirements_of,
    storage_errors,
)
from agentbench.errors import OutageError, SandboxError, StorageError, UnavailableError, UsageError
from tests.fakes.unreliable_provider import UnreliableProvider
from tests.patience import HANG_SECONDS


def test_os_error_names_the_folder(tmp_path):
    with (
        pytest.raises(StorageError, match=r"cannot be written \(Is a directory\)") as caught,
        storage_errors(tmp_path),
    ):
        tmp_path.write_text("")
    assert str(caught.value).startswith(f"{tmp_path}: ")
    assert "agentbench resume" in str(caught.value)


def test_os_error_without_errno_has_its_text(tmp_path):
    with pytest.raises(StorageError, match=r"\(gone\)"), storage_errors(tmp_path):
        raise OSError("gone")


def test_other_exception_passes(tmp_path):
    with pytest.raises(KeyError), storage_errors(tmp_path):
        raise KeyError


EVERYTHING = 1 << 60  # bytes


class Away(UnreliableProvider):
    def check(self) -> None:
        raise SandboxError("the engine does not answer")


class Gateway:
    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)

    def probe(self) -> None:
        answer = self._answers.pop(0)
        if answer is not None:
            raise answer


def test_unavailable_engine_is_a_fault():
    assert fault_of(Away().check) == "the engine does not answer"
    assert fault_of(UnreliableProvider().check) is None


def test_remote_run_requires_only_space_for_records(tmp_path):
    (need,) = requirements_of(tmp_path, None, None)
    assert need.fault() is None
    assert need.patience == timedelta(minutes=1)
    assert not need.costly


def test_remote_run_checks_the_model_locally(tmp_path):
    room, model = requirements_of(tmp_path, Gateway(), timedelta(seconds=7))
    assert (room.costly, model.costly) == (False, True)
    assert room.patience == model.patience == timedelta(seconds=7)


def test_full_disk_is_named(tmp_path, monkeypatch):
    full = type("Usage", (), {"total": 10_000 << 20, "free": 1 << 20})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: full)
    assert free_space_fault((tmp_path,), 16 << 20) == (
        f"{tmp_path}: almost no space left on device (1.0 MiB free): free some space"
    )


def test_small_disk_needs_a_tenth(tmp_path, monkeypatch):
    small = type("Usage", (), {"total": 100, "free": 11})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: small)
    assert free_space_fault((tmp_path,), EVERYTHING) is None


@pytest.mark.parametrize("refusal", [UsageError("a bad key"), UnavailableError("no answer")])
def test_failing_model_is_a_fault(refusal):
    assert fault_of(Gateway(refusal).probe) == str(refusal)
    assert fault_of(Gateway(None).probe) is None


def test_patience_is_shorter_for_a_disk_by_default(tmp_path):
    engine, disk = requirements_of(tmp_path, None, None, local=(tmp_path, UnreliableProvider()))
    assert disk.patience < engine.patience
    patience = timedelta(hours=2)
    needs = requirements_of(tmp_path, Gateway(), patience, local=(tmp_path, UnreliableProvider()))
    assert [need.costly for need in needs] == [False, False, True]
    assert {need.patience for need in needs} == {patience}


AWAY = "the engine does not answer"
PATIENT = timedelta(minutes=1)


class Clockless(Event):
    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        return self.is_set()


class Scripted:
    def __init__(self, *faults: str | None) -> None:
        self.faults = list(faults)
        self.looks = 0

    def __call__(self) -> str | None:
        self.looks += 1
        return self.faults.pop(0) if self.faults else None


def need(fault, *, patience: timedelta = PATIENT, costly: bool = False) -> Requirement:
    return Requirement(fault=fault, patience=patience, costly=costly)


def breaker(*needs: Requirement, cancel: Event | None = None) -> tuple[CircuitBreaker, list[str]]:
    messages: list[str] = []
    return CircuitBreaker(needs, cancel=cancel or Clockless(), say=messages.append), messages


def test_no_message_without_an_outage():
    made, messages = breaker(need(Scripted()))
    made.require()
    assert messages == []


def test_outage_is_reported_once_with_its_end():
    made, messages = breaker(need(Scripted(AWAY, AWAY, AWAY, AWAY)))
    made.require()
    paused, going_on = messages
    assert paused == f"paused: {AWAY}; continues when fixed, or ends in 60 s (Ctrl-C: now)"
    assert going_on.startswith("continuing after ")


def test_parallel_attempts_wait_for_the_same_outage():
    back = threading.Event()
    looking = threading.Event()

    def fault() -> str | None:
        if not looking.is_set():
            looking.set()
            return AWAY
        return None if back.wait(0.01) else AWAY

    made, messages = breaker(need(fault, patience=timedelta(days=1)))
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(made.require) for _ in range(4)]
        assert looking.wait(HANG_SECONDS)
        assert not any(each.done() for each in waiting)
        back.set()
        for each in waiting:
            each.result(HANG_SECONDS)
    assert len(messages) == 2


def test_long_outage_ends_all_attempts():
    fault = Scripted(*[AWAY] * 9)
    made, messages = breaker(need(fault, patience=timedelta(0)))
    with pytest.raises(
        OutageError, match=f"{AWAY}; fix this, then continue with `agentbench resume`"
    ):
        made.require()
    looks = fault.looks
    with pytest.raises(OutageError):
        made.require()
    assert fault.looks == looks
    assert messages == []  # with no patience at all there is no pause to speak of


def test_cancelled_run_does_not_wait():
    cancel = Clockless()
    made, messages = breaker(need(Scripted(*[AWAY] * 9)), cancel=cancel)
    cancel.set()
    made.require()
    assert messages == []


def test_cancel_ends_the_pause():
    cancel = Clockless()

    def fault() -> str | None:
        if messages:
            cancel.set()
        return AWAY

    made, messages = breaker(need(fault), cancel=cancel)
    made.require()
    assert len(messages) == 1


def test_costly_check_follows_only_a_failure():
    model = Scripted()
    made, _ = breaker(need(model, costly=True))
    made.require()
    assert model.looks == 0
    made.suspect()
    made.require()
    made.require()
    assert model.looks == 1


def test_refused_write_is_repeated_after_the_outage():
    disk = Scripted("full", "full")
    made, messages = breaker(need(disk))
    results = [StorageError("full"), "written"]

    def write() -> str:
        result = results.pop(0)
        if isinstance(result, StorageError):
            raise result
        return result

    assert made.written(write) == "written"
    assert len(messages) == 2


def test_refused_write_with_free_space_raises():
    made, _ = breaker(need(Scripted()))

    def write() -> None:
        raise StorageError("read-only file system")

    with pytest.raises(StorageError, match="read-only"):
        made.written(write)
