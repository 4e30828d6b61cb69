import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentbench.core.checksums import (
    ChecksummedDocument,
    has_checksum,
    is_undamaged,
    sources_checksum,
    tree_checksum,
)


class Note(ChecksummedDocument):
    text: str = ""
    numbers: tuple[int, ...] = ()


NOTE = Note(text='a "digest":"sha256:' + "0" * 64 + '"}\x9b ünd', numbers=(1, 2))
FORMS = [
    NOTE.json_with_checksum(),
    NOTE.json_with_checksum() + "\n",
    NOTE.json_with_checksum(indent=1) + "\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_checksum_is_the_last_field_over_the_bytes_before(text):
    assert list(json.loads(text))[-1] == "digest"
    head = text.encode()[: text.encode().rindex(b'"digest"')]
    assert json.loads(text)["digest"] == f"sha256:{hashlib.sha256(head).hexdigest()}"
    assert Note.model_validate_json(text) == Note.model_validate_json(text.encode()) == NOTE
    assert has_checksum(text.encode())


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("bit", [1, 2, 4, 16, 32, 128])
def test_any_flipped_bit_is_detected(text, bit):
    content = text.encode()
    for at in range(len(content.rstrip())):
        changed = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]
        with pytest.raises(ValidationError):
            Note.model_validate_json(changed)


@pytest.mark.parametrize("text", FORMS)
def test_any_truncation_is_detected(text):
    content = text.encode().rstrip()
    for at in range(len(content)):
        with pytest.raises(ValidationError):
            Note.model_validate_json(content[:at])


def test_document_without_a_checksum_is_read():
    text = Note(text="old").model_dump_json()
    assert Note.model_validate_json(text).text == "old"
    assert not has_checksum(text.encode())


def test_message_names_both_checksums():
    changed = NOTE.json_with_checksum().replace("[1,2]", "[1,3]")
    reported = r"says sha256:\w{12}…, but the content has sha256:\w{12}…: the file was damaged"
    with pytest.raises(ValidationError, match=reported) as caught:
        Note.model_validate_json(changed)
    assert caught.value.errors()[0]["type"] == "digest"


def test_reformatted_document_is_reported():
    text = json.dumps(json.loads(NOTE.json_with_checksum()))
    with pytest.raises(
        ValidationError,
        match="is not written the way agentbench writes it: damaged, or reformatted",
    ):
        Note.model_validate_json(text)


def test_checksum_is_in_the_schema_only():
    schema = Note.model_json_schema(mode="serialization")
    assert re.fullmatch(schema["properties"]["digest"]["pattern"], f"sha256:{'0' * 64}")
    assert "digest" not in schema.get("required", [])
    assert "digest" not in NOTE.model_dump()


@given(st.builds(Note, text=st.text(), numbers=st.lists(st.integers()).map(tuple)))
def test_any_document_survives_a_round_trip(note):
    assert Note.model_validate_json(note.json_with_checksum()) == note
    assert Note.model_validate_json(note.json_with_checksum(indent=1)) == note


def test_the_checksum_of_sources_changes_with_their_names_and_contents(tmp_path):
    def checksum(name, files):
        for path, text in files.items():
            path = tmp_path / name / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return sources_checksum(tmp_path / name)

    first = checksum("first", {"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    assert checksum("same", {"b/c.py": "y = 2\n", "a.py": "x = 1\n", "a.pyc": "0"}) == first
    others = ({"a.py": "x = 1\n"}, {"a.py": "x = 1\n", "b/c.py": "y = 3\n"})
    others += ({"a.py": "x = 1\n", "b/d.py": "y = 2\n"},)
    found = [checksum(f"other{number}", files) for number, files in enumerate(others)]
    assert len({first, *found}) == 4


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub" / "empty").mkdir(parents=True)
    (root / "file").write_bytes(b"content" * 1000)
    (root / "sub" / os.fsdecode(b"\xff\n")).write_bytes(b"odd")
    (root / "sub" / "link").symlink_to("../file")
    return root


CHANGES = {
    "a bit": lambda root: (root / "file").write_bytes(b"content" * 999 + b"contenu"),
    "a cut": lambda root: os.truncate(root / "file", 5),
    "another name": lambda root: (root / "file").rename(root / "elif"),
    "a missing file": lambda root: (root / "file").unlink(),
    "a missing folder": lambda root: (root / "sub" / "empty").rmdir(),
    "one more file": lambda root: (root / "sub" / "empty" / "new").touch(),
    "a mode": lambda root: (root / "file").chmod(0o755),
    "a folder's mode": lambda root: (root / "sub").chmod(0o711),
    "a link": lambda root: relink(root / "sub" / "link", "../elif"),
    "a link for a file": lambda root: relink(root / "file", "sub/link"),
    "a pipe for a file": lambda root: ((root / "file").unlink(), os.mkfifo(root / "file")),
}


def relink(path: Path, leads_to: str) -> None:
    path.unlink()
    path.symlink_to(leads_to)


@pytest.mark.parametrize("change", CHANGES)
def test_each_relevant_change_is_detected(tree: Path, change: str) -> None:
    (tree / "file").chmod(0o644)
    before = tree_checksum(tree)
    CHANGES[change](tree)
    assert tree_checksum(tree) != before
    assert not is_undamaged(tree, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_change_of_owner_is_detected(tree: Path) -> None:
    before = tree_checksum(tree)
    os.chown(tree / "file", 1234, -1)
    assert tree_checksum(tree) != before


def test_times_and_location_are_ignored(tree: Path, tmp_path: Path) -> None:
    before = tree_checksum(tree)
    os.utime(tree / "file", (1, 1))
    moved = tree.rename(tmp_path / "moved")
    assert tree_checksum(moved) == before
    assert is_undamaged(moved, before)


def test_excluded_entries_may_change(tree: Path) -> None:
    before = tree_checksum(tree, without={"file"})
    (tree / "file").unlink()
    assert tree_checksum(tree, without={"file"}) == before
    (tree / "sub" / "file").touch()
    assert tree_checksum(tree, without={"file"}) != before


def test_neighbouring_names_have_different_checksums(tmp_path: Path) -> None:
    for name, files in (("one", ("ab", "c")), ("two", ("a", "bc"))):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_bytes(b"")
    assert tree_checksum(tmp_path / "one") != tree_checksum(tmp_path / "two")


def test_unreadable_files_are_read_and_keep_their_mode(tree: Path) -> None:
    before = tree_checksum(tree)
    for path in (tree / "file", tree / "sub"):
        path.chmod(0o000)
    locked = tree_checksum(tree)  # root needs no key; for others it was unlocked for the while
    assert locked not in {before, tree_checksum(tree / "sub")}
    assert (tree / "file").stat().st_mode & 0o777 == 0
    assert (tree / "sub").stat().st_mode & 0o777 == 0
    for path in (tree / "file", tree / "sub"):
        path.chmod(0o700)


def test_tree_is_read_once_per_process(tree: Path) -> None:
    seal = tree_checksum(tree)
    assert is_undamaged(tree, seal)
    os.truncate(tree / "file", 1)
    assert is_undamaged(tree, seal), "it was whole when this process first asked"
    assert not is_undamaged(tree, tree_checksum(tree.parent))
    code = (
        "import sys; from pathlib import Path; from agentbench.core.checksums import is_undamaged; "
    )
    code += "sys.exit(is_undamaged(Path(sys.argv[1]), sys.argv[2]))"
    assert subprocess.run([sys.executable, "-c", code, tree, seal], check=False).returncode == 0


def test_missing_tree_is_damaged(tmp_path: Path) -> None:
    assert not is_undamaged(tmp_path / "none", "blake2b:0")
