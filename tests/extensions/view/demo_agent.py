"""The agent of the picture in README.md, which needs no model."""

from datetime import timedelta
from pathlib import Path

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring import AgentEnding
from agentbench.tasks.problem import Problem

_TASKS = Path(__file__).parents[3] / "tasks"
_UNSOLVED = ("cron-next-fire", "log-query-regex", "three-way-merge")
_FAILED_EDITS = "semver-resolver"
_STEP_LIMIT = "toml-writer-escapes"


class DemoAgent:
    """Applies the reference solution to most tasks and fails on the others in different ways."""

    name = "demo"

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Work on a task as its id says."""
        del budget, model
        if problem.id == _STEP_LIMIT:
            return AgentOutcome(ending=AgentEnding.STEP_LIMIT, steps=problem.limits.max_steps)
        if problem.id == _FAILED_EDITS:
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, steps=12)
        if problem.id not in _UNSOLVED:
            patch = (_TASKS / problem.id / "solution.patch").read_bytes()
            _shell(sandbox, "git apply -", patch)
        return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=12)


def _shell(sandbox: Sandbox, script: str, stdin: bytes = b"") -> None:
    timeout = timedelta(minutes=1)
    sandbox.run(Command(argv=("sh", "-c", script), stdin=stdin, timeout=timeout))
