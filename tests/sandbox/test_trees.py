import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.sandbox.trees import (
    FILE,
    FOLDER,
    DeepWalk,
    FileOwner,
    copy_tree,
    entries_below,
    entries_of,
    open_as_it_is,
    open_below,
    open_restoring_mode,
    open_unlocking,
    relocation,
    remove_below,
    remove_tree,
    size_of,
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


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs the rights of root")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with what is easily lost in copying."""
    tree = tmp_path / "tree"
    (tree / "deep" / "empty").mkdir(parents=True)
    (tree / "deep" / "tool").write_bytes(b"#!/bin/sh\n")
    (tree / "deep" / "tool").chmod(0o755)
    os.utime(tree / "deep" / "tool", ns=(1, 1_500_000_000_123_456_789))
    (tree / "link").symlink_to("deep/tool")
    os.mkfifo(tree / "pipe")
    (tree / "deep").chmod(0o750)
    return tree


def test_a_copy_keeps_modes_times_and_links(tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_tree(tree, copy)
    tool = (copy / "deep" / "tool").stat()
    assert (tool.st_mode & 0o777, tool.st_mtime_ns) == (0o755, 1_500_000_000_123_456_789)
    assert (copy / "link").readlink() == Path("deep/tool")
    assert (copy / "deep").stat().st_mode & 0o777 == 0o750
    assert (copy / "deep" / "empty").is_dir()
    assert not (copy / "pipe").exists()


def test_a_large_file_is_copied_whole(tmp_path: Path) -> None:
    content = os.urandom(1024) * 3000
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    (tmp_path / "from" / "large").write_bytes(content)
    copy_tree(tmp_path / "from", tmp_path / "to", change=lambda small: small)
    assert (tmp_path / "to" / "large").read_bytes() == content


def test_small_files_and_links_are_changed_on_the_way(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    copy_tree(tree, tmp_path / "copy", change=lambda text: text.replace(b"deep", b"DEEP"))
    assert (tmp_path / "copy" / "link").readlink() == Path("DEEP/tool")


@root_only
def test_copy_belongs_to_its_owner(tree: Path, tmp_path: Path) -> None:
    (tree / "deep" / "tool").chmod(0o4755)
    (tmp_path / "copy").mkdir()
    copy_tree(tree, tmp_path / "copy", owner=FileOwner(uid=60706, gid=60707))
    for path in (tmp_path / "copy", *(tmp_path / "copy").rglob("*")):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (60706, 60707)
    assert (tmp_path / "copy" / "deep" / "tool").stat().st_mode & 0o7777 == 0o755


@root_only
def test_a_merge_shows_what_an_overlay_would(tmp_path: Path) -> None:
    lower, upper, merged = (tmp_path / name for name in ("lower", "upper", "merged"))
    for folder in (lower / "kept", lower / "hidden", upper / "hidden", upper / "new", merged):
        folder.mkdir(parents=True)
    for file in (lower / "kept" / "a", lower / "hidden" / "b", lower / "gone", lower / "same"):
        file.write_text("lower")
    (upper / "same").write_text("upper")
    (upper / "hidden" / "c").write_text("upper")
    os.setxattr(upper / "hidden", "user.overlay.opaque", b"y")
    os.mknod(upper / "gone", 0o020000, os.makedev(0, 0))
    copy_tree(upper, merged, lower=lower)
    found = {str(path.relative_to(merged)) for path in merged.rglob("*")}
    assert found == {"kept", "kept/a", "hidden", "hidden/c", "new", "same"}
    assert (merged / "same").read_text() == "upper"
    assert (merged / "kept" / "a").samefile(lower / "kept" / "a")


def test_removal_includes_unreadable_folders_and_follows_no_link(tmp_path: Path) -> None:
    doomed = tmp_path / "doomed"
    (doomed / "a" / "b").mkdir(parents=True)
    (doomed / "a" / "b" / "f").touch()
    (tmp_path / "safe").touch()
    (doomed / "link").symlink_to(tmp_path)
    (doomed / "a" / "b").chmod(0o000)
    (doomed / "a").chmod(0o000)
    remove_tree(doomed)
    assert [path.name for path in tmp_path.iterdir()] == ["safe"]
    remove_tree(doomed)


def test_size_of_a_tree_counts_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"x" * 1000)
    (tmp_path / "y").write_bytes(b"y" * 10)
    assert size_of(tmp_path) == 1010
    assert size_of(tmp_path / "none") == 0


def test_a_tree_of_any_depth_is_measured_and_removed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    dig(tmp_path / "deep", 2_100)
    assert size_of(tmp_path / "deep") == 1
    remove_tree(tmp_path / "deep")
    assert list(tmp_path.iterdir()) == []


def test_too_deep_tree_is_not_copied(tmp_path: Path) -> None:
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    dig(tmp_path / "from", 300)
    with pytest.raises(OSError, match="nested folders"):
        copy_tree(tmp_path / "from", tmp_path / "to")


def test_relocation_changes_text_only() -> None:
    moved = relocation(old="/tmp/old", new="/tmp/new")
    assert moved(b"#!/tmp/old/venv/bin/python\n") == b"#!/tmp/new/venv/bin/python\n"
    assert moved(b"\0/tmp/old") == b"\0/tmp/old"


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


def test_walk_returns_through_the_same_folders(root: int, tmp_path: Path) -> None:
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


def test_walk_continues_after_an_error(root: int, tmp_path: Path) -> None:
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
def test_unreadable_folder_is_opened_on_request(root: int, tmp_path: Path, opened) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "x").touch()
    (tmp_path / "locked").chmod(0)
    seen = {entry.name for entry in entries_below(root, opened=opened)}
    assert ("x" in seen) is (opened is not open_as_it_is)
    assert ((tmp_path / "locked").stat().st_mode & 0o777 == 0) is (opened is not open_unlocking)
