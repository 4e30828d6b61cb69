import os

import pytest

from agentbench.importers import task_folders
from agentbench.importers.task_folders import read_text, script_fault, tree_faults
from agentbench.tasks.dataset_rows import Rejection


def said(found: str | Rejection | None) -> str:
    assert isinstance(found, Rejection)
    return found.what


def test_text_is_read_unchanged(tmp_path):
    (tmp_path / "a").write_bytes("ä\r\n".encode())
    assert read_text(tmp_path / "a") == "ä\r\n"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xef\xbb\xbfa", "begins with a byte order mark"),
        (b"\xff\xfe", "cannot be read as UTF-8 text"),
        (b"a" * (4 * 2**20 + 1), "has 4194305 bytes, more than 4194304"),
        (None, "is missing"),
    ],
)
def test_irregular_text_is_refused(tmp_path, content, what):
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    assert said(read_text(tmp_path / "a")).startswith(what)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    assert said(read_text(tmp_path)).startswith("cannot be read")


def test_script_needs_an_interpreter(tmp_path):
    script = tmp_path / "a.sh"
    script.write_bytes(b"#!/bin/sh\r\n")
    assert said(script_fault(script)).startswith("has Windows line ends")
    script.write_bytes(b"#!/bin/sh\necho a\r\n")
    assert script_fault(script) is None


def test_unsafe_entries_are_named(tmp_path):
    folder = tmp_path / "task"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "out").symlink_to("/etc")
    (folder / "inside").symlink_to("file")
    (folder / "file").write_text("a")
    (folder / "absolute").symlink_to(folder / "file")
    (folder / "out").symlink_to("../other")
    os.mkfifo(folder / "pipe")
    assert [(fault.where, fault.what) for fault in tree_faults(folder)] == [
        (str(folder / "absolute"), "is a symlink that leaves the task's folder"),
        (str(folder / "out"), "is a symlink that leaves the task's folder"),
        (str(folder / "pipe"), "is neither a file nor a folder"),
    ]


def test_too_large_tree_is_refused(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**31)
    (fault,) = tree_faults(tmp_path)
    assert fault.what == f"holds more than {task_folders._MAX_FILES} files or 1024 MiB"
