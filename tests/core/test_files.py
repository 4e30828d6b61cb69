import os
import threading
from pathlib import Path

import pytest

from agentbench.core.files import sync_folder, write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two", durable=True)
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(OSError, match=r"directory"):
        write_atomically(path, b"two")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", b"x")


def test_many_may_write_one_file_at_a_time(tmp_path):
    path = tmp_path / "file"
    texts = [bytes([65 + number]) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_durable_is_synced_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(name_of(fd)))
    write_atomically(tmp_path / "a", b"x")
    assert synced == []
    write_atomically(tmp_path / "a", b"x", durable=True)
    first, second = synced
    assert first.startswith(f"{tmp_path}/.a.")
    assert second == str(tmp_path)


def test_a_folder_that_cannot_be_synced_is_no_fault(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)


def name_of(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())
