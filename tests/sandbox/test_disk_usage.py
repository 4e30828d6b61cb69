import os
import subprocess
import sys
from pathlib import Path

from agentbench.sandbox.disk_usage import DiskUsage, FolderGauge
from agentbench.sandbox.trees import remove_tree
from tests.sandbox.test_deep_walk import dig

HOLD = """
import os, sys
name = sys.argv[1]
file = open(name, "wb")
os.unlink(name)
file.write(b"x" * (1 << 20))
file.flush()
memory = os.memfd_create("m")
os.write(memory, b"x" * (1 << 20))
print("held", flush=True)
sys.stdin.read()
"""


def measured(*folders: Path, processes: tuple[int, ...] = ()) -> DiskUsage:
    """The last word of a gauge."""
    *_, found = FolderGauge(folders=folders, processes=lambda: processes).measure()
    return found


def test_allocated_blocks_count_and_not_sizes(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(os.urandom(1 << 20))
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(10 << 30)
    found = measured(tmp_path)
    assert found.files == 2
    assert 1 << 20 <= found.bytes < 2 << 20


def test_files_folders_and_links_of_all_folders_are_counted(tmp_path: Path) -> None:
    for room in ("a", "b"):
        (tmp_path / room / "folder").mkdir(parents=True)
        (tmp_path / room / "link").symlink_to("/")
        os.mkfifo(tmp_path / room / "folder" / "pipe")
        (tmp_path / room / os.fsdecode(b"no\xfftext\n")).touch()
    assert measured(tmp_path / "a", tmp_path / "b").files == 8


def test_a_file_with_many_names_takes_its_blocks_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(1 << 20))
    for number in range(10):
        os.link(tmp_path / "x", tmp_path / str(number))
    found = measured(tmp_path)
    assert (found.files, found.bytes >> 20) == (11, 1)


def test_a_tree_that_no_path_reaches_the_end_of_is_counted(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    dig(tmp_path / "deep", 2_100)
    assert measured(tmp_path / "deep").files == 2_101
    remove_tree(tmp_path / "deep")


def test_a_file_without_a_name_is_found_in_the_process_that_writes_it(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    argv = (sys.executable, "-c", HOLD, str(tmp_path / "x"))
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert measured(tmp_path) == DiskUsage(bytes=0, files=0)
        found = measured(tmp_path, processes=(holder.pid, 2**22 + 1))
        holder.kill()
    assert (found.files, found.bytes >> 20) == (1, 1)


def test_a_long_measure_says_how_far_it_is(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / str(number)).touch()
    steps = [step.files for step in FolderGauge(folders=(tmp_path,), processes=tuple).measure()]
    assert len(steps) > 3
    assert steps == sorted(steps)


def test_what_is_free_shrinks_by_what_is_written(tmp_path: Path) -> None:
    gauge = FolderGauge(folders=(tmp_path, tmp_path), processes=tuple)
    free = gauge.free()
    assert free is not None
    facts = os.statvfs(tmp_path)
    assert abs(free.bytes - facts.f_bfree * facts.f_frsize) < 2 << 30  # others write, too


def test_folders_that_are_gone_leave_the_answer_open(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert FolderGauge(folders=(gone,), processes=tuple).free() is None
    assert measured(gone) == DiskUsage(bytes=0, files=0)
