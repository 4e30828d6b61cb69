import os
from pathlib import Path

import pytest

from agentbench.sandbox.trees import (
    FILE,
    FOLDER,
    entries_of,
    open_as_it_is,
    open_below,
    open_restoring_mode,
    open_unlocking,
)


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
    os.close(open_unlocking("pipe", FILE, folder))
    os.close(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open all")
@pytest.mark.parametrize("opened", [open_unlocking, open_restoring_mode])
def test_a_locked_folder_is_opened_and_keeps_its_mode_if_asked(tmp_path: Path, opened) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    folder = os.open(tmp_path, FOLDER)
    with pytest.raises(PermissionError):
        open_as_it_is("locked", FOLDER, folder)
    os.close(opened("locked", FOLDER, folder))
    os.close(folder)
    mode = (tmp_path / "locked").stat().st_mode & 0o777
    assert mode == (0 if opened is open_restoring_mode else 0o700)
