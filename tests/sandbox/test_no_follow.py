import os
from pathlib import Path

import pytest

from agentbench.sandbox.no_follow import FILE, FOLDER, entries_of, open_below, open_locked


def test_a_folder_below_is_opened_by_its_parts(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").touch()
    folder = open_below(tmp_path, ("a", "b"))
    assert [entry.name for entry in entries_of(folder)] == ["x"]
    os.close(folder)


def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    with pytest.raises(OSError, match="out"):
        open_below(tmp_path, ("out", "ssl"))
    with pytest.raises(OSError, match="out"):
        open_below(tmp_path, ("out",))


def test_a_refusal_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        with pytest.raises(FileNotFoundError):
            open_below(tmp_path, ("no", "such"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    folder = os.open(tmp_path, FOLDER)
    os.close(open_locked("pipe", FILE, folder))
    os.close(folder)
