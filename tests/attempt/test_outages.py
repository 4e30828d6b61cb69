from datetime import timedelta

import pytest

from agentbench.attempt.outages import fault_of, free_space_fault, requirements_of, storage_errors
from agentbench.errors import SandboxError, StorageError, UnavailableError, UsageError
from tests.fakes.unreliable_provider import UnreliableProvider


def test_what_the_system_refuses_is_the_fault_of_the_folder(tmp_path):
    with (
        pytest.raises(StorageError, match=r"cannot be written \(Is a directory\)") as caught,
        storage_errors(tmp_path),
    ):
        tmp_path.write_text("")
    assert str(caught.value).startswith(f"{tmp_path}: ")
    assert "agentbench resume" in str(caught.value)


def test_an_error_without_a_number_is_told_by_its_text(tmp_path):
    with pytest.raises(StorageError, match=r"\(gone\)"), storage_errors(tmp_path):
        raise OSError("gone")


def test_any_other_fault_is_left_alone(tmp_path):
    with pytest.raises(KeyError), storage_errors(tmp_path):
        raise KeyError


def test_without_a_fault_nothing_happens(tmp_path):
    with storage_errors(tmp_path):
        (tmp_path / "x").write_text("")


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


def test_an_engine_that_is_away_is_a_fault():
    assert fault_of(Away().check) == "the engine does not answer"
    assert fault_of(UnreliableProvider().check) is None


def test_a_disk_with_room_is_none(tmp_path):
    assert free_space_fault((tmp_path, tmp_path / "not" / "yet"), 1) is None


def test_a_run_made_elsewhere_needs_room_for_its_records_alone(tmp_path):
    (need,) = requirements_of(tmp_path, None, None)
    assert need.fault() is None
    assert need.patience == timedelta(minutes=1)
    assert not need.costly


def test_a_run_made_elsewhere_asks_its_model_from_here(tmp_path):
    room, model = requirements_of(tmp_path, Gateway(), timedelta(seconds=7))
    assert (room.costly, model.costly) == (False, True)
    assert room.patience == model.patience == timedelta(seconds=7)


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    full = type("Usage", (), {"total": 10_000 << 20, "free": 1 << 20})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: full)
    assert free_space_fault((tmp_path,), 16 << 20) == (
        f"{tmp_path}: almost no space left on device (1.0 MiB free): free some space"
    )


def test_of_a_small_disk_a_tenth_will_do(tmp_path, monkeypatch):
    small = type("Usage", (), {"total": 100, "free": 11})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: small)
    assert free_space_fault((tmp_path,), EVERYTHING) is None


@pytest.mark.parametrize("refusal", [UsageError("a bad key"), UnavailableError("no answer")])
def test_a_model_that_refuses_or_is_silent_is_a_fault(refusal):
    assert fault_of(Gateway(refusal).probe) == str(refusal)
    assert fault_of(Gateway(None).probe) is None


def test_only_the_model_costs_something_to_ask(tmp_path):
    needs = requirements_of(tmp_path, Gateway(), None, local=(tmp_path, UnreliableProvider()))
    assert [need.costly for need in needs] == [False, False, True]
    assert len(requirements_of(tmp_path, None, None, local=(tmp_path, UnreliableProvider()))) == 2


def test_nobody_waits_longer_for_a_disk_than_for_an_engine_unless_told(tmp_path):
    engine, disk = requirements_of(tmp_path, None, None, local=(tmp_path, UnreliableProvider()))
    assert disk.patience < engine.patience
    told = timedelta(hours=2)
    needs = requirements_of(tmp_path, None, told, local=(tmp_path, UnreliableProvider()))
    assert {need.patience for need in needs} == {told}
