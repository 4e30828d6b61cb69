import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.trees import (
    FOLDER,
    DeepWalk,
    entries_below,
    open_as_it_is,
    open_restoring_mode,
    open_unlocking,
    remove_below,
)

DIG = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir(sys.argv[3])
    os.chdir(sys.argv[3])
open("bottom", "w").write("x")
"""
DEEP = 2_100  # folders: a path of more than PATH_MAX, and more than Python recurses


def dig(folder: Path, depth: int, name: str = "d") -> None:
    """Make folders in one another, more than one path can name."""
    subprocess.run((sys.executable, "-c", DIG, str(folder), str(depth), name), check=True)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, FOLDER)
    yield descriptor
    remove_below(descriptor)  # pytest's own clean-up does not get to the bottom
    os.close(descriptor)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("name", ["d", "n" * 255])
def test_every_entry_of_a_tree_deeper_than_paths_is_seen(
    root: int, tmp_path: Path, name: str
) -> None:
    dig(tmp_path, DEEP, name)
    before = open_descriptors()
    most = seen = 0
    for entry in entries_below(root, opened=open_as_it_is):
        seen += 1
        most = max(most, open_descriptors() - before) if seen % 100 == 0 else most
        assert entry.stat(follow_symlinks=False)
    assert seen == DEEP + 1
    assert most < 100
    assert open_descriptors() == before


def test_a_tree_deeper_than_paths_is_removed(root: int, tmp_path: Path) -> None:
    dig(tmp_path, DEEP)
    (tmp_path / "beside").write_text("x")
    remove_below(root)
    assert list(tmp_path.iterdir()) == []


def test_a_way_down_and_up_passes_the_same_folders(root: int, tmp_path: Path) -> None:
    dig(tmp_path, 200)
    with DeepWalk(root) as walk:
        for depth in range(200):
            assert (walk.depth, walk.path) == (depth, "d/" * depth)
            walk.down("d")
        down = os.fstat(walk.folder)
        assert [walk.up() for _ in range(200)] == ["d"] * 200
        assert os.fstat(walk.folder).st_ino == tmp_path.stat().st_ino != down.st_ino


def test_a_folder_that_is_moved_away_is_not_followed_up(root: int, tmp_path: Path) -> None:
    dig(tmp_path, 200)
    with DeepWalk(root) as walk:
        for _ in range(150):
            walk.down("d")
        (tmp_path / "/".join("d" * 149)).rename(tmp_path / "elsewhere")
        walk.up()
        with pytest.raises(OSError, match="moved"):
            walk.up()
        assert walk.path == "d/" * 62
        while walk.depth:
            walk.up()
        assert os.fstat(walk.folder).st_ino == tmp_path.stat().st_ino


def test_a_walk_goes_on_where_it_can(root: int, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    seen = set()
    for entry in entries_below(root, opened=open_as_it_is):
        if not seen:
            shutil.rmtree(tmp_path / "b")
        seen.add(entry.name)
    assert seen == {"a", "b", "c"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open all")
@pytest.mark.parametrize("opened", [open_unlocking, open_restoring_mode, open_as_it_is])
def test_a_locked_folder_is_seen_into_where_that_is_asked_for(
    root: int, tmp_path: Path, opened
) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "x").touch()
    (tmp_path / "locked").chmod(0)
    seen = {entry.name for entry in entries_below(root, opened=opened)}
    assert ("x" in seen) is (opened is not open_as_it_is)
    assert ((tmp_path / "locked").stat().st_mode & 0o777 == 0) is (opened is not open_unlocking)


def test_links_are_removed_and_not_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    folder = os.open(tmp_path / "tree", FOLDER)
    remove_below(folder)
    os.close(folder)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()].count("kept") == 1
    assert list((tmp_path / "tree").iterdir()) == []
