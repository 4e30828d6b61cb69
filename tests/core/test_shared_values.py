"""Values that concurrent users share, as long as their files stay."""

import gc
from pathlib import Path

import pytest

from agentbench.core.files import write_atomically
from agentbench.core.shared_values import SharedValues


class Value:
    """The content of a file, with an identity."""

    def __init__(self, file: Path) -> None:
        self.content = file.read_bytes()


def test_users_at_the_same_time_get_one_value(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"1")
    values: SharedValues[Value] = SharedValues()
    first = values.get((file,), lambda: Value(file))
    assert values.get((file,), lambda: Value(file)) is first


def test_a_value_that_nobody_uses_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"1")
    values: SharedValues[Value] = SharedValues()
    reads: list[Path] = []

    def read() -> Value:
        reads.append(file)
        return Value(file)

    for _ in range(2):
        values.get((file,), read)
        gc.collect()
    assert reads == [file, file]


@pytest.mark.parametrize("content", [b"2", b"longer"])
def test_a_changed_file_is_read_again(tmp_path: Path, content: bytes) -> None:
    other, file = tmp_path / "other", tmp_path / "value"
    other.write_bytes(b"")
    file.write_bytes(b"1")
    values: SharedValues[Value] = SharedValues()
    first = values.get((other, file), lambda: Value(file))
    write_atomically(file, content)
    assert values.get((other, file), lambda: Value(file)).content == content
    assert first.content == b"1"


def test_a_missing_file_is_an_error_even_while_its_value_is_used(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_bytes(b"1")
    values: SharedValues[Value] = SharedValues()
    first = values.get((file,), lambda: Value(file))
    file.unlink()
    with pytest.raises(FileNotFoundError):
        values.get((file,), lambda: Value(file))
    assert first.content == b"1"
