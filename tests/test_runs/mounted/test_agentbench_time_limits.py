"""The time that the recorder gives to code under test, in programs of a real Python."""

import sys

import pytest

from agentbench.integrity.sealing.canonical import Leaf, Unreadable
from agentbench.test_runs.mounted.agentbench_canonical_bounds import digest
from tests.integrity.sealing.recorded import record

CLASS = """
import threading, time
recorder._recorder.properties = None  # as for the reference solution

class Matrix:
    {decorator}
    def slow(self):
        {body}
    def __str__(self):
        return "m"
    @property
    def quick(self):
        return 3

"""


def recorded(program, tmp_path):
    """The values that a program recorded, by place."""
    (recordings,) = record(program, sys.executable, tmp_path).values()
    return {one.site: one.values for one in recordings}


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "return sum(1 for _ in iter(int, 1))",
        "return [time.sleep(0.001) for _ in iter(int, 1)]",
        "time.sleep(3600)",
        "threading.Event().wait()",
        "\n".join(
            [
                "for _ in range(10):",
                "            try:",
                "                while True: pass",
                "            except Exception: pass",
            ]
        ),
        "\n".join(
            ["for _ in range(3):", "            try: time.sleep(3600)", "            except: pass"]
        ),
    ],
)
def test_property_that_takes_long_is_not_recorded_and_the_next_ones_are(body, tmp_path):
    program = CLASS.format(decorator="@property", body=body) + "recorder.value(1, Matrix())\n"
    (value,) = recorded(program, tmp_path)[1]
    assert isinstance(dict(value.public)["slow"], Unreadable | Leaf)
    assert dict(value.public)["quick"] == Leaf("int", 3)
    assert value.disclosed("str") == Leaf("str", "m")


def test_each_property_is_limited_on_its_own(tmp_path):
    program = CLASS.format(decorator="@property", body="while True: pass")
    program += "recorder.value(1, [Matrix(), Matrix(), 5])\n"
    (value,) = recorded(program, tmp_path)[1]
    for matrix in value.items[:2]:
        assert dict(matrix.public) == {"slow": Unreadable(), "quick": Leaf("int", 3)}
    assert value.items[2] == Leaf("int", 5)


@pytest.mark.parametrize("name", ["__repr__", "__len__", "__int__", "__bytes__", "__str__"])
def test_method_that_never_ends_is_not_recorded(name, tmp_path):
    program = CLASS.format(decorator="", body="while True: pass")
    program += f"Matrix.{name} = Matrix.slow\nrecorder.value(1, Matrix())\nrecorder.value(2, 7)\n"
    values = recorded(program, tmp_path)
    assert Unreadable() in dict(values[1][0].disclosures).values()
    assert values[2] == (Leaf("int", 7),)


def test_message_of_an_exception_that_never_ends_is_not_recorded(tmp_path):
    program = CLASS.format(decorator="", body="while True: pass")
    program += "class Own(Exception):\n    __str__ = Matrix.slow\n"
    program += "with recorder.raises(1):\n    raise Own()\nrecorder.value(2, 7)\n"
    assert recorded(program, tmp_path)[2] == (Leaf("int", 7),)


def test_one_recording_of_many_slow_objects_ends(tmp_path):
    program = CLASS.format(decorator="@property", body="while True: pass")
    program += "recorder.value(1, [Matrix() for _ in range(1000)])\nrecorder.value(2, 7)\n"
    values = recorded(program, tmp_path)
    assert values[1] == (Unreadable(),)
    assert values[2] == (Leaf("int", 7),)


def test_nothing_is_recorded_once_the_time_of_all_recordings_is_used_up(tmp_path):
    program = "import agentbench_time_limits\nrecorder._recorder._limits._left = 0.01\n"
    program += CLASS.format(decorator="@property", body="while True: pass")
    program += "recorder.value(1, Matrix())\nrecorder.value(2, Matrix())\nrecorder.value(3, 7)\n"
    values = recorded(program, tmp_path)
    assert values[2] == values[3] == (Unreadable(),)


def test_alarm_of_the_code_under_test_still_rings(tmp_path):
    program = CLASS.format(decorator="@property", body="while True: pass")
    program += """
import signal
rung = threading.Event()
signal.signal(signal.SIGALRM, lambda *_: rung.set())
signal.setitimer(signal.ITIMER_REAL, 0.2)
recorder.value(1, Matrix())
rung.wait()
recorder.value(2, rung.is_set())
"""
    assert recorded(program, tmp_path)[2] == (Leaf("bool", True),)


def test_properties_are_not_read_in_another_thread(tmp_path):
    program = CLASS.format(decorator="@property", body="while True: pass")
    program += "made = Matrix()\nother = threading.Thread(target=recorder.value, args=(1, made))\n"
    program += "other.start()\nother.join()\n"
    (value,) = recorded(program, tmp_path)[1]
    assert dict(value.public) == {"slow": Unreadable(), "quick": Unreadable()}
    assert value.disclosed("str") == Leaf("str", "m")


def test_agents_code_is_asked_only_for_properties_with_known_names(tmp_path):
    program = CLASS.format(decorator="@property", body="os._exit(3)")
    program = program.replace("= None", "= recorder._recorder.properties")
    known = [digest(["str", name]) for name in ("quick", "size")]
    program = f"import os\n{program}recorder.value(1, Matrix())\n"
    program += f"recorder.read_properties(*{known})\nrecorder.value(2, Matrix())\n"
    values = recorded(program, tmp_path)
    assert values[1][0].public == ()
    assert values[2][0].public == (("quick", Leaf("int", 3)),)
