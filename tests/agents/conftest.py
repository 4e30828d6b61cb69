import sys
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.agents.interface import Budget
from agentbench.tasks.problem import Problem, TaskId
from tests.fakes.local_sandbox import LocalSandbox


@pytest.fixture
def sandbox(tmp_path):
    return LocalSandbox(tmp_path / "sandbox", Path(sys.executable), ())


@pytest.fixture
def workspace(sandbox):
    """The workspace, with one file that bears a bug."""
    folder = Path(sandbox.workspace)
    (folder / "code.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def problem():
    return Problem(
        id=TaskId("some-task"),
        title="x is wrong",
        instruction="x should be 2\n",
        test_command="pytest",
        test_timeout_s=60,
    )


@pytest.fixture
def budget():
    return Budget(timeout=timedelta(seconds=60), max_steps=9, max_cost_usd=1)
