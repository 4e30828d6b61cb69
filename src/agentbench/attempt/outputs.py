"""The outputs of the stages of one attempt: each stage's evidence, and what it hands on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.errors import RunCancelled
from agentbench.models.interface import ModelTraffic
from agentbench.sandbox.interface import ImageId, Sandbox
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.tasks.mirror import Mirror

if TYPE_CHECKING:  # imported by the last two stages only
    from agentbench.integrity.protection import JudgedChange
    from agentbench.integrity.records import Controls


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutput:
    """The output of a stage that hands nothing on."""

    evidence: Evidence
    error: Exception | RunCancelled | None = None
    """The error that ended the stage, if the output contains a part of its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneOutput(StageOutput):
    """The sandbox of git_clone, which git_checkout and setup go on in."""

    sandbox: Sandbox
    mirror: Mirror | None  # None: the task has no repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOutput(StageOutput):
    """The state that the task's set-up ended in."""

    prepared: PreparedTask | None  # None: a command failed


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunOutput(StageOutput):
    """The agent's work; fields are None where the stage ended before."""

    outcome: AgentOutcome | None = None  # None also if the agent raised an exception
    traffic: ModelTraffic | None = None  # None also if the attempt has no model
    change: "JudgedChange | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalTestOutput(StageOutput):
    """The control runs beside the final test."""

    controls: "Controls"
    controls_seconds: float = 0.0  # that the verdict waited for them


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutputs:
    """The outputs and results of the stages of one attempt; None where it ended before."""

    results: tuple[StageResult, ...] = ()
    image: ImageId | None = None
    prepared: PreparedTask | None = None
    agent_run: AgentRunOutput | None = None
    final_test: FinalTestOutput | None = None
