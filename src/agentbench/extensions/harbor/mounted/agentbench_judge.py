"""A pytest plugin that gives a Harbor task its reward: 1 where the listed tests did as they must.

Written by `agentbench tasks export harbor`. Each test of `fail_to_pass` has to pass, each of
`pass_to_pass` to be there and not to fail; without such lists all tests have to pass, and one at
least. Standard library and pytest alone, Python 3.6 or newer.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_BAD = ("failed", "error")
_outcomes: "dict[str, str]" = {}


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """Remember the worst that became of a test."""
    outcome: str = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "xfailed"
    elif outcome == "failed" and report.when != "call":
        outcome = "error"
    if report.when == "call" or outcome != "passed":
        known = _outcomes.get(report.nodeid)
        _outcomes[report.nodeid] = outcome if known not in _BAD else known


def pytest_sessionfinish(exitstatus: int) -> None:
    """Write the reward where the variable AGENTBENCH_REWARD says."""
    with Path(os.environ["AGENTBENCH_EXPECTED"]).open(encoding="utf-8") as source:
        expected = json.load(source)
    fail_to_pass, pass_to_pass = expected["fail_to_pass"], expected["pass_to_pass"]
    if fail_to_pass or pass_to_pass:
        good = all(_outcomes.get(test) == "passed" for test in fail_to_pass) and all(
            _outcomes.get(test) not in (None, *_BAD) for test in pass_to_pass
        )
    else:
        good = int(exitstatus) == 0 and "passed" in _outcomes.values()
    with Path(os.environ["AGENTBENCH_REWARD"]).open("w", encoding="utf-8") as target:
        target.write("1\n" if good else "0\n")
