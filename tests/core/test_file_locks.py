import fcntl
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentbench.core.file_locks import (
    FileLock,
    LockHeldError,
    SharedLock,
    creation_lock,
    removal_lock,
)
from tests.counted_calls import calls_of
from tests.patience import HANG_SECONDS, wait_until

HOLDER = """
import sys, time
from pathlib import Path
from agentbench.core.file_locks import FileLock
with FileLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(1000)
"""


def test_lock_is_exclusive_between_threads(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(20):
            with FileLock(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0)  # lets the others try
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 160
    assert max(most) == 1


def test_killed_process_releases_its_lock(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(LockHeldError, match="lock: held by another process"):
        FileLock(tmp_path / "lock").acquire(timeout=0.1)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with FileLock(tmp_path / "lock"):
        pass


def test_timeout_of_zero_does_not_wait(tmp_path):
    with FileLock(tmp_path / "lock"), pytest.raises(LockHeldError):
        FileLock(tmp_path / "lock").acquire(timeout=0)


def test_lock_is_acquired_after_another_process_releases_it(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "lock"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    lock = FileLock(tmp_path / "lock")
    waiter = threading.Thread(target=lambda: lock.acquire(timeout=HANG_SECONDS))
    waiter.start()
    holder.kill()
    holder.communicate()
    waiter.join()
    with pytest.raises(LockHeldError):
        FileLock(tmp_path / "lock").acquire(timeout=0)
    lock.release()


def test_shared_locks_exclude_only_exclusive_locks(tmp_path):
    path = tmp_path / "lock"
    with FileLock(path, shared=True):
        with FileLock(path, shared=True), pytest.raises(LockHeldError):
            FileLock(path).acquire(timeout=0)
        with pytest.raises(LockHeldError):
            FileLock(path).acquire(timeout=0)
    with FileLock(path), pytest.raises(LockHeldError):
        FileLock(path, shared=True).acquire(timeout=0)


def test_removed_lock_file_is_not_the_lock(tmp_path, monkeypatch):
    """Whoever waited for a lock whose file was removed must meet those that came after."""
    lock, old, waiting = tmp_path / "lock", FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    old.acquire()
    waiter = threading.Thread(target=waiting.acquire)
    tries = calls_of(monkeypatch, fcntl, "flock")
    waiter.start()
    wait_until(lambda: tries)  # so it has opened the file
    lock.unlink()
    old.release()
    waiter.join(HANG_SECONDS)
    with pytest.raises(LockHeldError):
        FileLock(lock).acquire(timeout=0)
    waiting.release()


def test_missing_folder_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "gone" / "lock").acquire()


def test_second_release_does_nothing(tmp_path):
    lock = FileLock(tmp_path / "lock")
    lock.acquire()
    lock.release()
    lock.release()
    with lock:
        pass


@pytest.fixture
def thing(tmp_path: Path) -> Path:
    return tmp_path / "thing"


def test_entry_has_several_users(thing: Path) -> None:
    assert len([SharedLock(thing) for _ in range(3)]) == 3


def test_unused_entry_may_be_removed(thing: Path) -> None:
    with removal_lock(thing) as allowed:
        assert allowed


def test_used_entry_may_not_be_removed(thing: Path) -> None:
    use = SharedLock(thing)
    with removal_lock(thing) as allowed:
        assert not allowed
    del use
    with removal_lock(thing) as allowed:
        assert allowed


def test_entry_may_not_be_removed_during_its_creation(thing: Path) -> None:
    with creation_lock(thing), removal_lock(thing) as allowed:
        assert not allowed


def test_removal_excludes_other_removals(thing: Path) -> None:
    with removal_lock(thing) as allowed:
        assert allowed
        with removal_lock(thing) as other:
            assert not other


def test_creation_does_not_wait_for_users(thing: Path) -> None:
    use = SharedLock(thing)
    with creation_lock(thing):
        other = SharedLock(thing)
    assert use is not other
