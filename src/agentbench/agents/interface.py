"""What an agent is: something that gets a problem and a sandbox, and stops in a known way.

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

from agentbench.models.interface import ApiFormat
from agentbench.models.interface import ModelEndpoint as ModelEndpoint
from agentbench.models.interface import ModelUsage as ModelUsage
from agentbench.sandbox.interface import ImageId, ReadOnlyMount, Sandbox, SandboxProvider
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an agent may spend; `remaining` is the time that is left of it."""

    timeout: timedelta
    max_steps: int
    max_cost_usd: float
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    def remaining(self) -> timedelta:
        """The time left, never below zero."""
        spent = timedelta(seconds=self.clock() - self.started)
        return max(self.timeout - spent, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """How an agent stopped, and what it did on the way."""

    ending: AgentEnding
    detail: str = ""
    command: CommandResult | None = None  # of an agent that is one command
    steps: int = 0
    tool_calls: int = 0
    tool_errors_recovered: int = 0
    test_runs: int = 0
    usage: ModelUsage | None = None


class Agent(Protocol):
    """Something that tries to solve a problem in a sandbox."""

    @property
    def name(self) -> str:
        """What records and reports call it."""

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Work in the sandbox's workspace until done or out of budget.

        Raises:
            LLMError: the model failed for good.
            ToolError: a tool failed for good.
            SandboxError: the sandbox is lost.
        """


@runtime_checkable
class NeedsMounts(Protocol):
    """An agent whose own programs are mounted into its sandbox."""

    def mounts(self, provider: SandboxProvider, image: ImageId) -> Sequence[ReadOnlyMount]:
        """What its sandbox needs; made here when it is not there yet.

        Raises:
            UnavailableError: it cannot be made; says which command failed.
        """


@runtime_checkable
class UsesModel(Protocol):
    """An agent that says whether it can do without a model."""

    @property
    def needs_model(self) -> bool:
        """Whether a run without one is refused."""


@runtime_checkable
class NeedsPrograms(Protocol):
    """An agent that is started as programs which have to be where it works."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Their names or paths; none where they are not known before."""


@runtime_checkable
class HasVersion(Protocol):
    """An agent that knows which one of its kind it is."""

    @property
    def version(self) -> str:
        """As its makers count."""


@runtime_checkable
class SpeaksApiFormats(Protocol):
    """An agent whose client is made for certain wires."""

    @property
    def api_formats(self) -> frozenset[ApiFormat]:
        """Those that it can speak; one of them is enough."""
