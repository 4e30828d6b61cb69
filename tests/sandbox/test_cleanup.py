import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.cleanup import Orphan, find_dead_orphans, find_orphans, remove_orphans
from agentbench.sandbox.folder_sandbox import sandbox_folders
from agentbench.sandbox.interface import ImageId
from tests.counted_calls import calls_of

DIE_IN_THE_MIDDLE = """
import os, sys
from pathlib import Path
from agentbench.sandbox.folder_sandbox import sandbox_folders
with sandbox_folders(Path(sys.argv[1]), "", None) as rooms:
    (rooms.workspace / "file").write_bytes(b"x" * 5000)
    os.kill(os.getpid(), 9)
"""

HOLD_ON = """
import os, sys
from datetime import timedelta
from pathlib import Path
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.interface import Command, Limits
script = "import fcntl, time; f = open('lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX)"
script += "; print('held', flush=True); time.sleep(1000)"
provider = BubblewrapProvider.connect(cache_dir=Path(sys.argv[1]))
with provider.open(sys.argv[2], limits=Limits(), network=False) as sandbox:
    argv = ("setsid", "--wait", "python", "-c", script)
    sink = lambda stream, chunk: os.write(1, chunk)
    sandbox.run(Command(argv=argv, timeout=timedelta(seconds=100), sink=sink))
"""


def folders(cache_dir: Path) -> list[Orphan]:
    found = find_orphans(cache_dir)
    return [item for item in found if item.id.startswith(str(cache_dir))]


def test_orphans_of_a_dead_run_are_found_measured_and_removed(tmp_path: Path) -> None:
    live = tmp_path / "bubblewrap" / "live"
    subprocess.run((sys.executable, "-c", DIE_IN_THE_MIDDLE, str(live)), check=False)
    with sandbox_folders(live, "", None) as in_use:
        found = {item.id: item for item in folders(tmp_path)}
        mine = found.pop(str(in_use.root))
        (dead,) = found.values()
        assert mine.owner_alive
        assert not dead.owner_alive
        assert dead.size_bytes >= 5000
        assert remove_orphans((mine, dead)) == (dead,)
        assert folders(tmp_path) == [mine]


def test_unused_cache_has_no_orphans(tmp_path: Path) -> None:
    assert folders(tmp_path / "none") == []


def test_killed_harness_ends_its_commands(
    bubblewrap: BubblewrapProvider, bubblewrap_image: ImageId
) -> None:
    cache_dir = bubblewrap.cache.parent
    argv = (sys.executable, "-c", HOLD_ON, str(cache_dir), bubblewrap_image)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "held\n"
        mine = [item for item in find_orphans(cache_dir) if is_of(item, harness.pid)]
        assert mine
        assert all(item.owner_alive for item in mine)
        harness.kill()
    (folder,) = [Path(item.id) for item in mine if item.kind == "folder"]
    with (folder / "workspace" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits for the command's death
    dead = [item for item in find_orphans(cache_dir) if item.id in {one.id for one in mine}]
    assert len(dead) == len(mine)
    assert remove_orphans(tuple(dead)) == tuple(dead)
    assert not any(Path(item.id).exists() for item in dead)


HOLD = """
import sys
from pathlib import Path
from agentbench.core.files import owned_folder
with owned_folder(sys.argv[2], Path(sys.argv[1])) as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("place", "prefix"),
    [
        ("mirrors", "clone-"),
        ("prepared/process", "abc-"),
        ("bubblewrap/live", ""),
        ("temporary", "agentbench-patch-"),
    ],
)
def test_only_scratch_folders_of_dead_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, prefix: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / place).mkdir(parents=True)
    argv = (sys.executable, "-c", HOLD, str(tmp_path / place), prefix)
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert [item.owner_alive for item in folders(tmp_path)] == [True]
        assert of_this_test(find_dead_orphans(tmp_path), tmp_path) == ()
        owner.kill()
    (dead,) = of_this_test(find_dead_orphans(tmp_path), tmp_path)
    assert dead == Orphan(kind="folder", id=str(folder))
    assert remove_orphans((dead,)) == (dead,)
    assert not folder.exists()


def of_this_test(items: tuple[Orphan, ...], folder: Path) -> tuple[Orphan, ...]:
    """Those below a folder; other tests that run at the time have theirs."""
    return tuple(item for item in items if item.id.startswith(str(folder)))


def test_folder_with_only_our_name_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    mine = tmp_path / "temporary" / "agentbench-main"
    (mine / "src").mkdir(parents=True)
    (tmp_path / "mirrors" / "files-abc.git").mkdir(parents=True)
    (tmp_path / "prepared" / "docker" / "abc").mkdir(parents=True)
    for path in (mine, *tmp_path.rglob("*")):
        os.utime(path, (1, 1))
    assert folders(tmp_path) == []


def test_old_unfinished_file_is_removed(tmp_path: Path) -> None:
    key = tmp_path / "prepared" / "process" / "abc"
    key.mkdir(parents=True)
    old, new = key / ".stages.json.0a.new", key / ".stages.json.0b.new"
    for path in (old, new, key / "stages.json"):
        path.write_bytes(b"x" * 10)
    os.utime(old, (1, 1))
    (dead,) = folders(tmp_path)
    assert dead == Orphan(kind="file", id=str(old), size_bytes=10)
    assert remove_orphans((dead,)) == (dead,)
    assert sorted(path.name for path in key.iterdir()) == [".stages.json.0b.new", "stages.json"]


def test_search_for_dead_folders_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sandbox_folders(tmp_path / "bubblewrap" / "live", "", None) as in_use:
        listed = calls_of(monkeypatch, os, "scandir")

        def looked_into() -> list[object]:
            """What was listed below the folder; to measure it, it is opened first."""
            given = [place for (place,) in listed]
            return [each for each in given if isinstance(each, int) or is_below(each, in_use.root)]

        assert of_this_test(find_dead_orphans(tmp_path), tmp_path) == ()
        assert looked_into() == []
        assert len(folders(tmp_path)) == 1
        assert looked_into() != []


def is_below(place: object, folder: Path) -> bool:
    return Path(str(place)).is_relative_to(folder)


def is_of(item: Orphan, pid: int) -> bool:
    """Whether a process made it."""
    if item.kind == "cgroup":
        return f"-{pid}-" in item.id
    return (Path(item.id) / "owner").read_text() == f"{pid}\n"
