from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from agentbench.agents.interface import Budget
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.errors import SandboxError
from agentbench.scoring.evidence import AgentEnding, Ending
from agentbench.tasks.scripts import ScriptedSolution
from tests.fakes.ended_sandbox import EndedSandbox


def test_noop_submits_unchanged_workspace(problem, sandbox, workspace, budget):
    outcome = NoopAgent().solve(problem, sandbox, budget, None)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "changed nothing")
    assert [path.name for path in workspace.iterdir()] == ["code.py"]
    assert (workspace / "code.py").read_text() == "x = 1\n"


PATCH = b"--- a/code.py\n+++ b/code.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def solve(patches, problem, sandbox, budget):
    return OracleAgent(patches).solve(problem, sandbox, budget, None)


def test_oracle_applies_reference_patch(problem, sandbox, workspace, budget):
    outcome = solve({problem.id: PATCH}, problem, sandbox, budget)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")
    assert (workspace / "code.py").read_text() == "x = 2\n"
    assert [path.name for path in workspace.iterdir()] == ["code.py"]


@pytest.mark.parametrize("patches", [{}, {"some-task": b""}, {"some-task": b" \n"}])
def test_oracle_without_patch_is_a_tool_error(patches, problem, sandbox, workspace, budget):
    outcome = solve(patches, problem, sandbox, budget)
    assert (outcome.ending, outcome.detail) == (
        AgentEnding.TOOL_ERROR,
        "the task has no solution.patch",
    )
    assert outcome.command is None
    assert (workspace / "code.py").read_text() == "x = 1\n"


def test_patch_that_does_not_apply_is_a_tool_error(problem, sandbox, workspace, budget):
    (workspace / "code.py").write_text("y = 1\n")
    outcome = solve({problem.id: PATCH}, problem, sandbox, budget)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail.startswith(
        "solution.patch does not apply: error: patch failed: code.py:1"
    )
    assert outcome.command.exit_code == 1


def test_git_gets_the_remaining_time(problem):
    clock = iter([40.0])
    budget = Budget(
        timeout=timedelta(seconds=60),
        max_steps=1,
        max_cost_usd=0,
        clock=lambda: next(clock),
        started=0.0,
    )
    sandbox = EndedSandbox(Ending.TIMED_OUT)
    outcome = solve({problem.id: PATCH}, problem, sandbox, budget)
    assert sandbox.commands[0].timeout == timedelta(seconds=20)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == "solution.patch does not apply: git apply ended in timed_out"


def test_lost_sandbox_is_raised(problem, sandbox, budget):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        solve({problem.id: PATCH}, problem, sandbox, budget)


def test_oracle_runs_solution_script(problem, sandbox, workspace, budget, tmp_path):
    (tmp_path / "solve.sh").write_text('#!/bin/sh\necho "$SAID" > code.py\nexit 3\n')
    script = ScriptedSolution(
        command="./solve.sh",
        env={"SAID": "x = 2"},
        folder=tmp_path,
        mount_point=PurePosixPath(workspace),
    )
    outcome = OracleAgent({}, {problem.id: script}).solve(problem, sandbox, budget, None)
    assert (workspace / "code.py").read_text() == "x = 2\n"
    assert outcome.ending is AgentEnding.SUBMITTED
    assert outcome.detail == "the script ended in exited 3"
