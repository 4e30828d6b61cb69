import os
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentbench.core.files import (
    has_owner_file,
    is_owned,
    owned_folder,
    read_or_create_identity,
    sync_folder,
    write_atomically,
)


def test_write_replaces_the_file_and_leaves_no_scratch(tmp_path):
    path = tmp_path / "file.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two", durable=True)
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(OSError, match=r"directory"):
        write_atomically(path, b"two")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "file", b"x")


def test_parallel_writes_leave_one_whole_file(tmp_path):
    path = tmp_path / "file"
    texts = [bytes([65 + number]) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_durable_write_syncs_file_then_folder(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(name_of(fd)))
    write_atomically(tmp_path / "a", b"x")
    assert synced == []
    write_atomically(tmp_path / "a", b"x", durable=True)
    first, second = synced
    assert first.startswith(f"{tmp_path}/.a.")
    assert second == str(tmp_path)


def test_unsyncable_folder_is_ignored(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(tmp_path)


def name_of(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def test_a_folder_keeps_its_name_and_another_has_another(tmp_path):
    name = read_or_create_identity(tmp_path / "one")
    assert len(name) == 32
    assert read_or_create_identity(tmp_path / "one") == name
    assert read_or_create_identity(tmp_path / "two") != name


def test_all_that_ask_at_once_get_the_same(tmp_path):
    with ThreadPoolExecutor(16) as threads:
        names = set(threads.map(lambda _: read_or_create_identity(tmp_path / "one"), range(200)))
    assert len(names) == 1
    assert (tmp_path / "one").read_text() == names.pop()


def test_damaged_identity_is_replaced(tmp_path):
    path, draw = tmp_path / "one", random.Random(1)
    for damaged in (b"", b"short", b"\xff" * 32, draw.randbytes(4000), b"g" * 32):
        path.write_bytes(damaged)
        name = read_or_create_identity(path)
        assert len(name) == 32
        assert read_or_create_identity(path) == name


HOLD = """
import sys
from pathlib import Path
from agentbench.core.files import owned_folder
with owned_folder("agentbench-x-", Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_owned_until_its_block_ends_and_then_gone(tmp_path: Path) -> None:
    with owned_folder("x-", tmp_path) as folder:
        assert folder.name.startswith("x-")
        assert is_owned(folder)
        assert has_owner_file(folder)
        (folder / "sub").mkdir()
        (folder / "sub" / "file").touch()
        (folder / "link").symlink_to("sub")
    assert list(tmp_path.iterdir()) == []


def test_error_in_the_block_removes_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), owned_folder("x-", tmp_path) as folder:
        (folder / "none" / "file").touch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "namespace", [(), ("unshare", "--user", "--pid", "--fork", "--kill-child")]
)
def test_a_second_process_owns_its_folder_until_it_is_killed(
    tmp_path: Path, namespace: tuple[str, ...]
) -> None:
    if namespace and (shutil.which("unshare") is None or _refused(namespace)):
        namespace = ()  # no namespaces here; then that case is the plain one again
    argv = (*namespace, sys.executable, "-c", HOLD, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert is_owned(folder)
        owner.kill()
        assert owner.stdout.read() == ""  # at the end of all who could write to it
    assert folder.exists()
    assert not is_owned(folder)


def _refused(namespace: tuple[str, ...]) -> bool:
    return subprocess.run((*namespace, "true"), capture_output=True, check=False).returncode != 0


def test_new_folder_without_owner_file_counts_as_owned(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert is_owned(tmp_path / "new")
    os.utime(tmp_path / "new", (1, 1))
    assert not is_owned(tmp_path / "new")
    assert not has_owner_file(tmp_path / "new")


def test_missing_folder_has_no_owner(tmp_path: Path) -> None:
    assert not is_owned(tmp_path / "none")
