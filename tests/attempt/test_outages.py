import pytest

from agentbench.attempt.outages import storage_errors
from agentbench.errors import StorageError


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
