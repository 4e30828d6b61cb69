"""In processes of their own: the collector is one of the whole process."""

import gc
import os
import platform
import subprocess
import sys

import pytest

from agentbench.core.memory_tuning import POOL_VARIABLES, paused

PROGRAM = """
import gc
from agentbench.core.memory_tuning import relax, restore
usual = gc.get_threshold()
{steps}
now = gc.get_threshold()
print(now[0] - usual[0], now[1:] == usual[1:], gc.get_freeze_count() > 0)
"""


def after(*steps):
    program = PROGRAM.format(steps="\n".join(f"{step}()" for step in steps))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_start_is_looked_through_seldom():
    more, _, frozen = after("relax")
    assert int(more) > 10_000
    assert frozen == "False"


def test_work_is_looked_through_as_usual_and_what_was_there_before_is_not():
    assert after("relax", "restore") == ["0", "True", "True"]
    assert after("relax", "relax", "restore") == ["0", "True", "True"]


def test_a_library_leaves_the_collector_alone():
    assert after("restore") == ["0", "True", "False"]
    assert after("relax", "restore", "restore") == ["0", "True", "True"]


POOLS = """
import re
from pathlib import Path
from threading import Barrier, Thread
from agentbench.core.memory_tuning import limit_pools
{step}
together = Barrier(13)
def allocate():
    kept = [bytearray(5000) for _ in range(100)]
    together.wait()
    together.wait()
threads = [Thread(target=allocate) for _ in range(12)]
for thread in threads:
    thread.start()
together.wait()
starts = re.findall("^([0-9a-f]+)-[0-9a-f]+ rw", Path("/proc/self/maps").read_text(), re.MULTILINE)
print(1 + sum(int(start, 16) % (64 << 20) == 0 for start in starts))
together.wait()
"""


def pools_after(step, **env):
    """The number of the C library's pools with 12 threads that allocate, on two cores at most."""
    usual = {key: value for key, value in os.environ.items() if key not in POOL_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", POOLS.format(step=step)],
        capture_output=True,
        text=True,
        check=True,
        env={**usual, **env},
        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2]),
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these pools")
def test_threads_share_a_pool_of_memory_for_each_core():
    assert pools_after("") > 2, "the usual number is higher"
    assert pools_after("limit_pools()") == 2
    assert pools_after("limit_pools()", MALLOC_ARENA_MAX="4") == 4, "the user's number holds"


def test_blocks_in_which_nothing_is_looked_for_may_overlap():
    first, second = paused(), paused()
    with first:
        with second:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_block_that_fails_ends_the_pause():
    with pytest.raises(KeyError), paused():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
