"""Temporary files go into memory only where that can take them."""

import os
import tempfile
from pathlib import Path

import pytest

from tests import scratch
from tests.scratch import has_room_for_programs, scratch_folder


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


def test_a_file_system_that_runs_no_programs_is_not_used(memory):
    facts = os.statvfs(memory)
    refusing = os.statvfs_result((*facts[:8], facts.f_flag | os.ST_NOEXEC, facts[9]))
    assert has_room_for_programs(facts, 1)
    assert not has_room_for_programs(refusing, 1)
