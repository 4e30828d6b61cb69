"""Temporary files go into memory only where that can take them."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests import scratch
from tests.scratch import scratch_folder


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """A folder that stands for memory, with room."""
    monkeypatch.setattr(scratch, "ROOM_BYTES", 1)
    folder = tmp_path / "memory"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def test_memory_is_used_where_it_has_room(memory):
    assert scratch_folder({}, memory) == memory


def test_whoever_names_a_folder_gets_it(memory):
    assert scratch_folder({"TMPDIR": "/somewhere"}, memory) == Path(tempfile.gettempdir())


def test_a_folder_without_room_is_not_used(memory, monkeypatch):
    monkeypatch.setattr(scratch, "ROOM_BYTES", 1 << 60)
    assert scratch_folder({}, memory) == Path(tempfile.gettempdir())


def test_a_folder_that_others_cannot_write_to_is_not_used(memory):
    memory.chmod(0o755)
    assert scratch_folder({}, memory) == Path(tempfile.gettempdir())


def test_a_folder_that_is_not_there_is_not_used(memory):
    assert scratch_folder({}, memory / "nothing") == Path(tempfile.gettempdir())


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount")
def test_a_folder_that_runs_no_programs_is_not_used(memory):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=1777", "none", memory], check=True)
    try:
        assert scratch_folder({}, memory) == Path(tempfile.gettempdir())
    finally:
        subprocess.run(["umount", memory], check=True)
