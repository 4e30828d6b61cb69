"""The program that finds changed files, in a folder that an agent may have filled with anything."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentbench.sandbox.mounted import changes
from agentbench.sandbox.mounted.changes import Changes


def later() -> int:
    """A clock by which no file has changed a moment ago."""
    return time.time_ns() + 10**9


def contents(looked):
    return {
        path: None if encoded is None else base64.b64decode(encoded).decode()
        for path, (encoded, _) in looked["files"].items()
    }


def test_first_look_only_remembers_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    looked = Changes(str(tmp_path)).scan()
    assert (looked["files"], looked["removed"], list(looked["marks"])) == ({}, [], ["a.py"])


def test_new_changed_and_removed_files_are_found(tmp_path: Path) -> None:
    for name in ("same.py", "changed.py", "removed.py"):
        (tmp_path / name).write_text("1")
    watched = Changes(str(tmp_path), clock=later)
    watched.scan()
    (tmp_path / "changed.py").write_text("2")
    (tmp_path / "removed.py").unlink()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tool.sh").write_text("3")
    (tmp_path / "new" / "tool.sh").chmod(0o755)
    looked = watched.scan()
    assert contents(looked) == {"changed.py": "2", "new/tool.sh": "3"}
    assert looked["removed"] == ["removed.py"]
    assert [looked["files"][path][1] for path in ("changed.py", "new/tool.sh")] == [False, True]
    assert watched.scan()["files"] == {}


def test_change_of_equal_size_and_time_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    watched = Changes(str(tmp_path))
    watched.scan()
    facts = file.stat()
    file.write_text("2")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert contents(watched.scan()) == {"a.py": "2"}


def test_caches_and_history_are_skipped(tmp_path: Path) -> None:
    watched = Changes(str(tmp_path))
    watched.scan()
    for name in (".git", "__pycache__", "node_modules"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("1")
    assert watched.scan()["files"] == {}


def test_only_regular_files_of_the_folder_are_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    root = tmp_path / "root"
    root.mkdir()
    watched = Changes(str(root))
    watched.scan()
    (root / "link").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    found = watched.scan()
    assert found["files"] == {}
    assert sorted(found["special"]) == ["folder", "link", "loop", "pipe"]


def test_change_in_the_tick_of_the_scan_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1")
    changed_at = file.stat().st_ctime_ns
    times = iter([changed_at, changed_at, changed_at + 10**9, changed_at + 10**9])
    watched = Changes(str(tmp_path), clock=lambda: next(times))
    found = [watched.scan() for _ in range(3)]
    assert [contents(each) for each in found] == [{}, {"a.py": "1"}, {}]


def test_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    watched = Changes(str(tmp_path))
    watched.scan()
    (tmp_path / "not\udcffutf8.py").write_text("1")
    (tmp_path / "folder\udcff").mkdir()
    (tmp_path / "folder\udcff" / "a.py").write_text("1")
    assert watched.scan()["files"] == {}


def test_large_file_is_named_without_its_content(tmp_path: Path) -> None:
    watched = Changes(str(tmp_path))
    watched.scan()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(changes.MAX_FILE + 1)
    assert contents(watched.scan()) == {"large": None}


def test_look_ends_at_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Changes(str(tmp_path), clock=later)
    watched.scan()
    for number in range(6):
        (tmp_path / str(number)).write_text("12345")
    monkeypatch.setattr(changes, "MAX_BYTES", 10)
    looked = watched.scan()
    found = [looked, watched.scan(), watched.scan(), watched.scan()]
    assert [(len(each["files"]), each["has_more"]) for each in found] == [
        (2, True),
        (2, True),
        (2, False),
        (0, False),
    ]
    assert {path for each in found for path in contents(each)} == set("012345")
    monkeypatch.setattr(changes, "MAX_FILES", 3)
    assert Changes(str(tmp_path)).scan()["truncated"]


def test_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    assert Changes(str(tmp_path / "gone")).scan()["truncated"]


def test_program_goes_on_from_known_marks(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    marks = Changes(str(tmp_path)).scan()["marks"]
    (tmp_path / "a.py").write_text("23")
    program = subprocess.run(
        [sys.executable, "-I", "-S", changes.__file__, str(tmp_path)],
        input=json.dumps(marks).encode() + b"\n\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    size = int.from_bytes(program.stdout[:8], "big")
    assert contents(json.loads(program.stdout[8 : 8 + size])) == {"a.py": "23"}
    assert json.loads(program.stdout[16 + size :])["files"] == {}
