"""Agents of users, as a strict type checker sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

AGENT = """\
from agentbench import (
    AgentEnding, AgentOutcome, AgentSandbox, Budget, Command, ModelEndpoint, Problem, run_tasks,
)


class Patient:
    name = "patient"

    def solve(
        self, problem: Problem, sandbox: AgentSandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        line = sandbox.run("ls", timeout=5)
        words = sandbox.run(["ls", "-a"])
        sandbox.run(Command(argv=("ls",), timeout=budget.remaining()))
        print(problem.instruction, line.stdout, words.exit_code)
        return AgentOutcome(ending=AgentEnding.SUBMITTED)


async def later(
    problem: Problem, sandbox: AgentSandbox, budget: Budget, model: ModelEndpoint | None
) -> AgentOutcome:
    return AgentOutcome(ending=AgentEnding.SUBMITTED)


for agent in (Patient(), Patient, later):
    for record in run_tasks("tasks/", agent):
        print(record.resolved)
"""


def checked(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    file = folder / "my_agent.py"
    file.write_text(text, "utf-8")
    argv = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(file)]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


def test_what_agents_may_write_has_types(tmp_path: Path) -> None:
    done = checked(tmp_path, AGENT)
    assert done.returncode == 0, done.stdout


def test_wrong_arguments_are_found(tmp_path: Path) -> None:
    done = checked(tmp_path, AGENT.replace('"ls", timeout=5', '5, timeout="5"'))
    assert done.stdout.count("[arg-type]") == 2
