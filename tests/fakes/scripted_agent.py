"""An agent that does what a test says."""

from collections.abc import Callable
from typing import Any, NamedTuple

from agentbench.agents.interface import Budget
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.interface import Sandbox
from agentbench.tasks.problem import Problem


class Given(NamedTuple):
    """What an agent is given."""

    problem: Problem
    sandbox: Sandbox
    budget: Budget
    model: ModelEndpoint | None


class ScriptedAgent:
    """Calls a function with all that it was given, and returns what that returns, sense or not."""

    def __init__(self, work: Callable[[Given], Any], name: str = "scripted") -> None:
        self.name = name
        self._work = work

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> Any:
        return self._work(Given(problem, sandbox, budget, model))
