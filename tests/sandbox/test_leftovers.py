import os
import subprocess
import sys
from pathlib import Path

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


def test_a_group_is_in_use_while_its_process_lives(tmp_path: Path) -> None:
    ours = [item for item in find_leftovers(tmp_path) if f"-{os.getpid()}-" in item.id]
    assert all(item.owner_alive for item in ours if item.kind == "cgroup")
