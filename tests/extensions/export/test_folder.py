from pathlib import Path

import pytest

from agentbench.errors import UsageError
from agentbench.extensions.export.folder import CARD, DATA, MARK, data_set_folder


def write(target, text, *, overwrite=False):
    with data_set_folder(target, overwrite=overwrite) as folder:
        (folder / DATA / "train.jsonl").write_text(text)
        (folder / CARD).write_text(f"{MARK}\n{text}")


def contents(target):
    return {path.name: path.read_text() for path in target.rglob("*") if path.is_file()}


def test_data_set_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "new"
    with data_set_folder(target, overwrite=False) as folder:
        (folder / CARD).write_text("text")
        assert not target.exists()
    assert contents(target) == {CARD: "text"}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), data_set_folder(tmp_path / "new", overwrite=False):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_one_line(tmp_path):
    with (
        pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"),
        data_set_folder(tmp_path / "new", overwrite=False),
        Path("/dev/full").open("w") as full,
    ):
        full.write("text")
    assert list(tmp_path.iterdir()) == []


def test_empty_folder_is_used(tmp_path):
    (tmp_path / "new").mkdir()
    write(tmp_path / "new", "one")
    assert "train.jsonl" in contents(tmp_path / "new")


def test_earlier_export_is_replaced_only_on_request(tmp_path):
    target = tmp_path / "new"
    write(target, "one")
    (target / ".gitattributes").write_text("kept")
    with pytest.raises(UsageError, match="add --overwrite"):
        write(target, "two")
    assert contents(target)["train.jsonl"] == "one"
    write(target, "two", overwrite=True)
    assert contents(target)["train.jsonl"] == "two"
    assert contents(target)[".gitattributes"] == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("name", [CARD, "thesis.txt"])
def test_other_files_are_never_overwritten(tmp_path, name):
    (tmp_path / DATA).mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="found other files"):
        write(tmp_path, "two", overwrite=True)
    assert contents(tmp_path) == {name: "mine"}


def test_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="cannot be read"):
        write(tmp_path / "file", "two", overwrite=True)
