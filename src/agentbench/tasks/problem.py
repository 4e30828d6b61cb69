"""The part of a task that an agent may know."""

from typing import NewType

from pydantic import Field

from agentbench.schema import Schema

TaskId = NewType("TaskId", str)
"""Names a task; `[a-z0-9._-]+`, unique in a run."""


class AgentLimits(Schema):
    """How long and how far an agent may go."""

    timeout_s: float = 1800.0
    max_steps: int = 50
    max_cost_usd: float = 2.0


class Problem(Schema):
    """What an agent is told: the bug report, how the visible tests run, and its limits."""

    id: TaskId
    title: str
    tags: tuple[str, ...] = ()
    instruction: str
    test_command: str
    test_paths: tuple[str, ...] = ()
    test_timeout_s: float
    test_env: dict[str, str] = Field(default_factory=dict)  # what the tests run with
    limits: AgentLimits = AgentLimits()
