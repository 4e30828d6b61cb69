"""ATIF, the Agent Trajectory Interchange Format, version 1.8: the part that agentbench writes.

Defined by Harbor's models (package `harbor` 0.25, `harbor.models.trajectories`).
"""

from typing import Final, Literal

from pydantic import Field, JsonValue

from agentbench.core.schema import Schema
from agentbench.models.conversation import Role

ATIF_VERSION: Final = "ATIF-v1.8"


class ToolCall(Schema):
    """A tool call by the model."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class ObservationResult(Schema):
    """The result of one call."""

    source_call_id: str | None = None
    content: str


class Observation(Schema):
    """The results of a step's calls."""

    results: tuple[ObservationResult, ...]


class Metrics(Schema):
    """Tokens and money of one answer; `prompt_tokens` counts cached ones, too."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None = None


class Step(Schema):
    """One turn."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Role
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    llm_call_count: int | None = None
    extra: dict[str, JsonValue] | None = None


class TrajectoryAgent(Schema):
    """The agent."""

    name: str
    version: str
    model_name: str | None = None


class FinalMetrics(Schema):
    """Sums over all steps."""

    total_prompt_tokens: int
    total_completion_tokens: int
    total_cached_tokens: int
    total_cost_usd: float | None = None
    total_steps: int


class Trajectory(Schema):
    """`trajectory.json`."""

    schema_version: Literal["ATIF-v1.8"] = ATIF_VERSION
    session_id: str
    agent: TrajectoryAgent
    steps: tuple[Step, ...] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics
