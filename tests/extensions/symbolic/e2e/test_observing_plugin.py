"""The plug-in that writes down what changed tests see, under a real pytest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS

MOUNTED = Path(__file__).parents[4] / "src/agentbench/extensions/symbolic/mounted"
TESTS = """
import unittest
import pytest
from shop import price

def test_sees():
    __agentbench__.see(0, price("tea"))
    __agentbench__.truth(1, [3])
    with __agentbench__.raises(2) as caught:
        price("")
    assert caught.type is ValueError
    with __agentbench__.raises(3):
        price("milk")

def test_runs_into_an_error():
    price(None)

def test_does_not_end():
    while True:
        try:
            price("tea")
        except Exception:
            pass

class TestOld(unittest.TestCase):
    def test_old(self):
        __agentbench__.holds(4, lambda: self.assertIn("t", "tea"))
        __agentbench__.holds(5, lambda: self.assertIn("x", "tea"))
        price("")
"""
SHOP = """
def price(name):
    if name == "":
        raise ValueError("no name")
    return len(name)
"""


@pytest.fixture
def seen(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    observed = tmp_path / "observed.jsonl"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "agentbench_mounted.pytest_observer",
            "-q",
            "test_shop.py",
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(MOUNTED),
            "AGENTBENCH_OBSERVED": str(observed),
            "AGENTBENCH_OBSERVED_SECONDS": "0.5",
        },
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    lines = [json.loads(line) for line in observed.read_text().splitlines()]
    return {(one["test"].rpartition("::")[2], one["at"]): one for one in lines}


def test_observed_values_are_recorded(seen):
    assert seen["test_sees", 0]["form"] == ["number", "3"]
    assert seen["test_sees", 1]["text"] == "True"
    assert (seen["test_sees", 2]["type"], seen["test_sees", 2]["explicit"]) == ("ValueError", True)
    assert seen["test_sees", 3]["form"] == ["none"]
    assert seen["test_sees", -1]["text"] == "to its end"


def test_test_outcomes_are_recorded(seen):
    ended = seen["test_runs_into_an_error", -1]
    assert (ended["type"], ended["explicit"]) == ("TypeError", False)
    assert seen["test_does_not_end", -1]["kind"] == "timeout"


def test_unittest_tests_are_recorded(seen):
    assert seen["test_old", 4]["text"] == "True"
    assert seen["test_old", 5]["text"] == "False"
    assert (seen["test_old", -1]["type"], seen["test_old", -1]["explicit"]) == ("ValueError", True)
