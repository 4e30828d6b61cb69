"""In processes of their own: the collector is one of the whole process."""

import gc
import subprocess
import sys

import pytest

from agentbench.core.memory_tuning import paused

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
