import fcntl
import subprocess
import sys
from pathlib import Path

from agentbench.sandbox.bubblewrap import BubblewrapProvider
from agentbench.sandbox.interface import ImageId
from agentbench.sandbox.leftover import Leftover
from agentbench.sandbox.leftovers import find_leftovers, remove_leftovers
from agentbench.sandbox.rooms import furnished

DIE_IN_THE_MIDDLE = """
import os, sys
from pathlib import Path
from agentbench.sandbox.rooms import furnished
with furnished(Path(sys.argv[1]), "", None) as rooms:
    (rooms.workspace / "file").write_bytes(b"x" * 5000)
    os.kill(os.getpid(), 9)
"""

HOLD_ON = """
import os, sys
from datetime import timedelta
from pathlib import Path
from agentbench.sandbox.bubblewrap import BubblewrapProvider
from agentbench.sandbox.interface import Command, Limits
script = "import fcntl, time; f = open('lock', 'w'); fcntl.flock(f, fcntl.LOCK_EX)"
script += "; print('held', flush=True); time.sleep(1000)"
provider = BubblewrapProvider.connect(cache_dir=Path(sys.argv[1]))
with provider.open(sys.argv[2], limits=Limits(), network=False) as sandbox:
    argv = ("setsid", "python", "-c", script)
    sink = lambda stream, chunk: os.write(1, chunk)
    sandbox.run(Command(argv=argv, timeout=timedelta(seconds=100), sink=sink))
"""


def folders(cache_dir: Path) -> list[Leftover]:
    found = find_leftovers(cache_dir)
    return [item for item in found if item.id.startswith(str(cache_dir))]


def test_what_a_dead_run_left_is_found_measured_and_removed(tmp_path: Path) -> None:
    live = tmp_path / "bubblewrap" / "live"
    subprocess.run((sys.executable, "-c", DIE_IN_THE_MIDDLE, str(live)), check=False)
    with furnished(live, "", None) as in_use:
        found = {item.id: item for item in folders(tmp_path)}
        mine = found.pop(str(in_use.root))
        (dead,) = found.values()
        assert mine.owner_alive
        assert not dead.owner_alive
        assert dead.size_bytes >= 5000
        assert remove_leftovers((mine, dead)) == (dead,)
        assert folders(tmp_path) == [mine]


def test_a_cache_that_was_never_used_has_no_leftovers(tmp_path: Path) -> None:
    assert folders(tmp_path / "none") == []


def test_a_harness_that_is_killed_takes_its_commands_along(
    bubblewrap: BubblewrapProvider, bubblewrap_image: ImageId
) -> None:
    cache_dir = bubblewrap.cache.parent
    argv = (sys.executable, "-c", HOLD_ON, str(cache_dir), bubblewrap_image)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "held\n"
        mine = [item for item in find_leftovers(cache_dir) if is_of(item, harness.pid)]
        assert mine
        assert all(item.owner_alive for item in mine)
        harness.kill()
    (folder,) = [Path(item.id) for item in mine if item.kind == "folder"]
    with (folder / "workspace" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits for the command's death
    dead = [item for item in find_leftovers(cache_dir) if item.id in {one.id for one in mine}]
    assert len(dead) == len(mine)
    assert remove_leftovers(tuple(dead)) == tuple(dead)
    assert not any(Path(item.id).exists() for item in dead)


def is_of(item: Leftover, pid: int) -> bool:
    """Whether a process made it."""
    if item.kind == "cgroup":
        return f"-{pid}-" in item.id
    return (Path(item.id) / "owner").read_text() == f"{pid}\n"
