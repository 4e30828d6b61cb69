import pytest

from agentbench.errors import StorageError
from agentbench.runs.storage import writing_into


def test_what_the_system_refuses_is_the_fault_of_the_folder(tmp_path):
    with (
        pytest.raises(StorageError, match=r"cannot be written \(Is a directory\)") as caught,
        writing_into(tmp_path),
    ):
        tmp_path.write_text("")
    assert str(caught.value).startswith(f"{tmp_path}: ")
    assert "agentbench resume" in str(caught.value)


def test_an_error_without_a_number_is_told_by_its_text(tmp_path):
    with pytest.raises(StorageError, match=r"\(gone\)"), writing_into(tmp_path):
        raise OSError("gone")


def test_any_other_fault_is_left_alone(tmp_path):
    with pytest.raises(KeyError), writing_into(tmp_path):
        raise KeyError


def test_without_a_fault_nothing_happens(tmp_path):
    with writing_into(tmp_path):
        (tmp_path / "x").write_text("")
