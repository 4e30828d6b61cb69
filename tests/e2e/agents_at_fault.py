"""Agents that fail in ways of their own, named as `--agent tests.e2e.agents_at_fault:…`.

Each is a function of problem, sandbox, budget and model, as far as it cares.
"""

import threading

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.errors import LLMError, ToolError
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem


def model_is_down(*_: object) -> AgentOutcome:
    """Meets a model that does not answer."""
    raise LLMError("429 for ever")


def model_failed(*_: object) -> AgentOutcome:
    """Says that its model failed."""
    return AgentOutcome(ending=AgentEnding.LLM_ERROR, detail="invalid key")


def out_of_steps(
    _problem: Problem, _sandbox: Sandbox, budget: Budget, _model: object
) -> AgentOutcome:
    """Uses up its steps."""
    detail = f"gave up after {budget.max_steps} steps"
    return AgentOutcome(ending=AgentEnding.STEP_LIMIT, detail=detail, steps=budget.max_steps)


def tool_is_broken(*_: object) -> AgentOutcome:
    """Has a tool that fails for good."""
    raise ToolError("the patch does not apply")


def odd(*_: object) -> AgentOutcome:
    """Has a fault of its own."""
    raise ZeroDivisionError("an odd day")


def hangs(*_: object) -> AgentOutcome:
    """Waits in Python, where no sandbox can end it, for what nobody will say."""
    threading.Event().wait()
    raise AssertionError
