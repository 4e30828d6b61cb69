"""The model endpoint of an attempt, its traffic, and how models fail.

The endpoint is a unix socket, mounted into the agent's sandbox, with plain HTTP on one path for
each API format. Its token is valid nowhere else, and the real key is never in the sandbox.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from agentbench.scoring.evidence import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """The tokens of one answer; `input` includes cached input."""

    input: int = 0
    output: int = 0  # reasoning included
    cached: int = 0  # of the input, read from the provider's cache
    cache_written: int = 0  # of the input, written to the cache
    cache_written_1h: int = 0  # of those, for an hour


def token_count(value: object) -> int:
    """A number of tokens from a provider; 0 if it is not a number."""
    return value if type(value) is int and 0 <= value <= 1_000_000_000 else 0


class ApiFormat(StrEnum):
    """A protocol of model clients, by its inference path."""

    OPENAI_CHAT = "openai-chat"  # POST /v1/chat/completions
    OPENAI_RESPONSES = "openai-responses"  # POST /v1/responses
    ANTHROPIC_MESSAGES = "anthropic-messages"  # POST /v1/messages (and /count_tokens)
    GEMINI_GENERATE = "gemini-generate"  # POST /v1beta/models/M:generateContent (and stream…)


class ModelErrorKind(StrEnum):
    """How a model fails to answer."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    AUTH = "auth"
    QUOTA = "quota"  # the account at the provider has no money left
    UNKNOWN_MODEL = "unknown_model"
    CONTEXT_LENGTH = "context_length"
    REFUSAL = "refusal"
    MALFORMED = "malformed"  # the provider rejects the request as invalid
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    CUT_STREAM = "cut_stream"


AGENTS_OWN_ERRORS = frozenset(
    {ModelErrorKind.CONTEXT_LENGTH, ModelErrorKind.REFUSAL, ModelErrorKind.MALFORMED}
)
"""The failures that an agent causes by its requests; others are the infrastructure's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """One request that a model did not answer."""

    kind: ModelErrorKind
    message: str  # the provider's, without keys
    status: int | None = None  # of HTTP; None: no answer came


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The sums over an agent's requests; `cost_usd` is None if no price is known."""

    requests: int = 0
    input_tokens: int = 0  # including cached ones
    output_tokens: int = 0  # reasoning included
    cached_tokens: int = 0  # of the input, read from the provider's cache
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraffic:
    """The traffic of one endpoint."""

    usage: ModelUsage = ModelUsage()
    errors: Mapping[ModelErrorKind, int] = field(default_factory=lambda: MappingProxyType({}))
    last_failure: ModelFailure | None = None  # of the last request, if no later one was answered
    over_budget: bool = False  # a request was refused because the budget was spent
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """The access of one attempt to its model."""

    model: str  # the model's name, as its provider knows it
    api_formats: tuple[ApiFormat, ...]  # the model's main one first
    token: str  # replaces the API key
    socket: Path  # the gateway's socket on this machine, in a folder of its own
    traffic: Callable[[], ModelTraffic]  # the traffic so far
    settle: Callable[[], None] = lambda: None
    """Repeats the last request at the agent's end if it failed: an answer clears its failure."""


class ModelGateway(Protocol):
    """Opens endpoints to one model for the attempts of a run."""

    @property
    def model(self) -> str:
        """The model's name, as its provider knows it."""

    @property
    def api_formats(self) -> tuple[ApiFormat, ...]:
        """The API formats of its endpoints, the model's main one first."""

    def open_endpoint(
        self,
        *,
        budget_usd: float,
        log: Path,
        lane: str = "",
        on_request: Callable[[datetime], None] | None = None,
    ) -> AbstractContextManager[ModelEndpoint]:
        """An endpoint for one attempt; its connections are cut at the end of the block.

        Args:
            budget_usd: The cost limit of the attempt.
            log: The file for the exchanges, one JSON line each.
            lane: Names the attempt in a recording.
            on_request: Called with the time of each request, in a thread, before it is forwarded.
        """
