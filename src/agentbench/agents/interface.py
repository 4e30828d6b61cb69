"""The interface of agents: an agent gets a problem and a sandbox, and returns an outcome.

class Patient:
    name = "patient"

    def solve(self, problem, sandbox, budget, model):
        sandbox.run(Command(argv=("sh", "-c", "…"), timeout=budget.remaining()))
        return AgentOutcome(ending=AgentEnding.SUBMITTED)
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, runtime_checkable

from agentbench.models.interface import ApiFormat, ModelEndpoint, ModelUsage
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
)
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem

_MINUTES = 120  # seconds, from which on a time is given in minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of an agent; `remaining` is the rest of its time."""

    timeout: timedelta
    max_steps: int
    max_cost_usd: float
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    def variables(self) -> dict[str, str]:
        """The limits as environment variables, for a program that plans its work.

        Returns:
            `AGENTBENCH_DEADLINE` in seconds since 1970, `AGENTBENCH_MAX_STEPS`, and
            `AGENTBENCH_MAX_COST` in US dollars.
        """
        deadline = time.time() + self.remaining().total_seconds()
        return {
            "AGENTBENCH_DEADLINE": f"{deadline:.0f}",
            "AGENTBENCH_MAX_STEPS": str(self.max_steps),
            "AGENTBENCH_MAX_COST": f"{self.max_cost_usd:g}",
        }

    def as_text(self) -> str:
        """The limits as a paragraph of an instruction."""
        seconds = self.timeout.total_seconds()
        minutes = f"{seconds / 60:.0f} minutes"
        limits = f"{minutes if seconds >= _MINUTES else f'{seconds:.0f} seconds'}, "
        limits += f"{self.max_steps} steps, and ${self.max_cost_usd:.2f} for model calls"
        return f"You have {limits}. When a limit is reached, your work is judged as it is."

    def remaining(self) -> timedelta:
        """The remaining time, at least zero."""
        spent = timedelta(seconds=self.clock() - self.started)
        return max(self.timeout - spent, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """How an agent stopped, and what it did."""

    ending: AgentEnding
    detail: str = ""
    command: CommandResult | None = None  # if the agent is one command
    steps: int = 0
    tool_calls: int = 0
    tool_errors_recovered: int = 0
    test_runs: int = 0
    usage: ModelUsage | None = None


class AgentSandbox(Sandbox, Protocol):
    """The sandbox of an agent, whose commands end with its budget."""

    def run(
        self,
        command: Command | str | Sequence[str],
        *,
        timeout: timedelta | float | None = None,
    ) -> CommandResult:
        """Run a command until its end, its time limit or the end of the budget.

        Args:
            command: A line for `sh`, a program with its arguments, or a `Command`.
            timeout: Seconds; None: those of the `Command`, or the rest of the budget.

        Raises:
            SandboxError: the sandbox is lost.
            RunCancelled: the run was cancelled.
        """


class Agent(Protocol):
    """An agent that tries to solve a problem in a sandbox."""

    @property
    def name(self) -> str:
        """Its name in records and reports."""

    def solve(
        self, problem: Problem, sandbox: AgentSandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Work in the sandbox's workspace until done or until the budget is spent.

        Raises:
            LLMError: the model failed after all retries.
            ToolError: a tool failed after all retries.
            SandboxError: the sandbox is lost.
        """


@runtime_checkable
class NeedsMounts(Protocol):
    """An agent with its own programs, which are mounted into its sandbox."""

    def mounts(self, provider: SandboxProvider, image: ImageId) -> Sequence[ReadOnlyMount]:
        """The mounts that its sandbox needs, created if necessary.

        Raises:
            UnavailableError: they cannot be created; says which command failed.
        """


@runtime_checkable
class WritesFilesOnly(Protocol):
    """An agent that says whether it renames folders; if not, it needs no plain workspace."""

    @property
    def writes_files_only(self) -> bool:
        """Whether it only writes and removes single files."""


@runtime_checkable
class UsesModel(Protocol):
    """An agent that says whether it needs a model."""

    @property
    def needs_model(self) -> bool:
        """Whether a run without a model is refused."""


@runtime_checkable
class NeedsPrograms(Protocol):
    """An agent that starts programs in its sandbox."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names or paths of the programs; empty if they are unknown."""


@runtime_checkable
class HasVersion(Protocol):
    """An agent with a version."""

    @property
    def version(self) -> str:
        """Its version."""


@runtime_checkable
class SpeaksApiFormats(Protocol):
    """An agent whose client supports only some API formats."""

    @property
    def api_formats(self) -> frozenset[ApiFormat]:
        """The supported formats; the model must have one of them."""
