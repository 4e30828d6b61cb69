import os
from pathlib import Path

import pytest

from agentbench.extensions.llm.in_sandbox.paths import (
    FILE_FLAGS,
    FOLDER_FLAGS,
    SIZE_LIMIT,
    RefusedError,
    open_below,
    parts_below,
    printable,
    read_text_file,
    write_file,
)


@pytest.fixture
def root(tmp_path):
    """A workspace with links inside and out, and something to protect beside it."""
    folder = tmp_path / "space"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "f").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "space2").mkdir()
    (folder / "in").symlink_to("a/f")
    (folder / "out").symlink_to("../secret")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "absolute").symlink_to(tmp_path / "secret")
    (folder / "dangling").symlink_to("../nowhere/new")
    return str(folder)


LEAVING = [
    "../secret",
    "a/../../secret",
    "out",
    "up/secret",
    "absolute",
    "dangling",
    "/etc/passwd",
    "/",
    "..",
    "../space2/x",
    "a/../../space2",
    "//etc/passwd",
    "/proc/self/../../etc/passwd",
]


@pytest.mark.parametrize("path", LEAVING)
def test_whatever_leads_out_is_refused_for_reading_and_writing(root, path, tmp_path):
    for use in (lambda: parts_below(root, path), lambda: read_text_file(root, path)):
        with pytest.raises(RefusedError, match="leads out of the workspace"):
            use()
    with pytest.raises(RefusedError, match="leads out of the workspace"):
        write_file(root, path, b"x")
    assert (tmp_path / "secret").read_text() == "outside"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("path", ["a/f", "in", "./a//f", "a/../a/f", "up/space/a/f"])
def test_what_stays_inside_may_go_round_about(root, path):
    assert read_text_file(root, path) == b"inside"


def test_an_absolute_path_may_lead_inside(root):
    assert parts_below(root, f"{root}/a/f") == ("a", "f")
    assert parts_below(root, root) == parts_below(root, ".") == parts_below(root, "") == ()


def test_writing_through_a_link_changes_what_it_leads_to(root):
    write_file(root, "in", b"new")
    assert read_text_file(root, "a/f") == b"new"
    assert Path(root, "in").is_symlink()


@pytest.mark.parametrize("part", ["a", "a/f"])
def test_a_link_that_is_swapped_in_after_the_look_is_not_followed(root, part):
    parts = parts_below(root, "a/f")
    Path(root, part).rename(Path(root, "moved"))
    Path(root, part).symlink_to(Path(root, "moved"))
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_below(root, parts, FILE_FLAGS)
    if part == "a":
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            open_below(root, parts[:-1], FOLDER_FLAGS, make=True)


def test_what_is_no_text_file_is_named(root):
    with pytest.raises(RefusedError, match="a is a folder; list_files"):
        read_text_file(root, "a")
    os.mkfifo(f"{root}/pipe")
    with pytest.raises(RefusedError, match="pipe is not a regular file"):
        read_text_file(root, "pipe")
    write_file(root, "image", b"\x89PNG\0\0")
    with pytest.raises(RefusedError, match="image is a binary file of 6 bytes"):
        read_text_file(root, "image")
    Path(root, "large").touch()
    os.truncate(f"{root}/large", SIZE_LIMIT + 1)
    with pytest.raises(RefusedError, match=f"large has {SIZE_LIMIT + 1} bytes, more than"):
        read_text_file(root, "large")
    with pytest.raises(RefusedError, match="NUL"):
        read_text_file(root, "a\0b")
    with pytest.raises(RefusedError, match="the workspace itself is no file"):
        write_file(root, ".", b"")


def test_a_loop_of_links_is_an_error_of_the_system(root):
    with pytest.raises(OSError, match="Too many levels"):
        read_text_file(root, "loop")


def test_what_cannot_be_written_leaves_nothing_behind(root):
    Path(root, "folder").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        write_file(root, "folder", b"x")
    assert not list(Path(root).glob(".agentbench*"))


def test_a_name_is_shown_on_one_line():
    assert printable("ü.py") == "ü.py"
    assert printable("a\nb") == r"'a\nb'"
    assert printable(os.fsdecode(b"\xff")) == r"'\udcff'"
