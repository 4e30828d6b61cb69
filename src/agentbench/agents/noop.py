"""The agent that changes nothing: proves that a task is not already solved."""

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem


class NoopAgent:
    """Submits the workspace as it found it."""

    name = "noop"

    def solve(
        self,
        problem: Problem,  # noqa: ARG002 - the protocol's
        sandbox: Sandbox,  # noqa: ARG002
        budget: Budget,  # noqa: ARG002
        model: ModelDoor | None,  # noqa: ARG002
    ) -> AgentOutcome:
        """Do nothing."""
        return AgentOutcome(ending=AgentEnding.SUBMITTED, detail="changed nothing")
