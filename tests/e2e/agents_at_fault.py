"""Agents that fail in ways of their own, named as `--agent tests.e2e.agents_at_fault:…`."""

import threading

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.errors import LLMError, ToolError
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem


def model_is_down(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Meets a model that does not answer."""
    raise LLMError("429 for ever")


def model_failed(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Says that its model failed."""
    return AgentOutcome(ending=AgentEnding.LLM_ERROR, detail="invalid key")


def out_of_steps(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Uses up its steps."""
    detail = f"gave up after {budget.max_steps} steps"
    return AgentOutcome(ending=AgentEnding.STEP_LIMIT, detail=detail, steps=budget.max_steps)


def tool_is_broken(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Has a tool that fails for good."""
    raise ToolError("the patch does not apply")


def odd(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Has a fault of its own."""
    raise ZeroDivisionError("an odd day")


def hangs(
    problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
) -> AgentOutcome:
    """Waits in Python, where no sandbox can end it, for what nobody will say."""
    threading.Event().wait()
    raise AssertionError
