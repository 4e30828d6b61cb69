"""The agent that knows the reference fix: proves that a task can be solved."""

from collections.abc import Mapping

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem, TaskId


class OracleAgent:
    """Applies each task's reference patch, which whoever makes the agent hands it."""

    name = "oracle"

    def __init__(self, patches: Mapping[TaskId, bytes]) -> None:
        self._patches = patches

    def solve(
        self,
        problem: Problem,
        sandbox: Sandbox,
        budget: Budget,
        model: ModelDoor | None,  # noqa: ARG002 - the protocol's
    ) -> AgentOutcome:
        """Apply the patch with git, in the sandbox."""
        patch = self._patches.get(problem.id, b"")
        if not patch.strip():
            return AgentOutcome(
                ending=AgentEnding.TOOL_ERROR, detail="the task has no solution.patch"
            )
        result = sandbox.run(
            Command(
                argv=("git", "apply", "--whitespace=nowarn", "-"),
                stdin=patch,
                timeout=budget.remaining(),
            )
        )
        if not result.ok:
            said = result.stderr.strip() or f"git apply ended in {result.ending.value}"
            detail = f"solution.patch does not apply: {said}"
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=detail, command=result)
        return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1, tool_calls=1)
