"""The part of a task that an agent gets: the bug report, its limits, and how to run the tests."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, NewType

from pydantic import Field

from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.tasks.test_runner_name import Runner

TaskId = NewType("TaskId", str)
"""The id of a task: `[a-z0-9._-]+`, unique in a run."""


def is_selected(task_id: str, globs: Sequence[str] | None) -> bool:
    """Whether a task's id matches one of the globs; without a glob every one does."""
    return not globs or any(fnmatchcase(task_id, glob) for glob in globs)


# Strict: TOML has types, so "300" where a number belongs is a mistake.
Seconds = Annotated[float, Field(strict=True, gt=0, le=7 * 24 * 3600, allow_inf_nan=False)]


class AgentLimits(Schema):
    """`[agent]`: the limits and the network of an agent, and what is noted and told of them."""

    timeout_s: Seconds = 1800.0
    max_steps: Annotated[int, Field(strict=True, gt=0, le=10**6)] = 50
    max_cost_usd: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] = 2.0
    timeline: Annotated[bool, Field(strict=True)] = False
    """Whether the states of the agent's work are noted, and judged afterwards."""
    tell_limits: Annotated[bool, Field(strict=True)] = False
    """Whether the instruction ends with these limits."""
    network: Network | None = None
    """The network of the agent's own commands; None: that of [environment]."""


class Problem(Schema):
    """The bug report, how the visible tests run, and the agent's limits."""

    id: TaskId
    title: str
    tags: tuple[str, ...] = ()
    instruction: str
    test_command: str
    test_runner: Runner | None = None  # None: the one that the command names
    test_report: str = ""  # the files that the command writes, as a pattern
    test_before: tuple[str, ...] = ()  # shell commands that judged runs start with
    test_paths: tuple[str, ...] = ()
    test_timeout_s: float
    test_env: dict[str, str] = Field(default_factory=dict)  # variables of the test runs
    limits: AgentLimits = AgentLimits()
    network: Network = False  # of the agent's commands
    mcp_servers: tuple[McpServer, ...] = ()
    skills: str | None = None  # a folder in the sandbox, with a folder for each skill
    step: str | None = None  # the name of the step of this instruction

    @property
    def tests(self) -> TestCommand:
        """The parsed command of the tests."""
        return parse_test_command(self.test_command, self.test_runner, self.test_report)
