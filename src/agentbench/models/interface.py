"""The one way to a model that an attempt has, what passed through it, and how models fail.

The endpoint is a unix socket on this machine, mounted into the agent's sandbox. Behind it the
gateway (`models.gateway`) listens in plain HTTP, on one path for each API format; the token is
worth nothing anywhere else, and the real key never comes near the sandbox.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from agentbench.scoring.evidence import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """What a provider said of one answer; `input` counts all, whatever the cache did with it."""

    input: int = 0
    output: int = 0  # reasoning included
    cached: int = 0  # of the input, read from the provider's cache
    cache_written: int = 0  # of the input, written to the cache
    cache_written_1h: int = 0  # of those, the ones that stay for an hour


def token_count(value: object) -> int:
    """A number of tokens as a provider wrote it; what is none counts nothing."""
    return value if type(value) is int and 0 <= value <= 1_000_000_000 else 0


class ApiFormat(StrEnum):
    """A protocol that clients of models speak, by its one inference path."""

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
    QUOTA = "quota"  # the provider's own: the account has no money left
    UNKNOWN_MODEL = "unknown_model"
    CONTEXT_LENGTH = "context_length"
    REFUSAL = "refusal"
    MALFORMED = "malformed"  # a request that the provider calls wrong
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    CUT_STREAM = "cut_stream"


AGENTS_OWN_ERRORS = frozenset(
    {ModelErrorKind.CONTEXT_LENGTH, ModelErrorKind.REFUSAL, ModelErrorKind.MALFORMED}
)
"""What an agent brings upon itself by what it sends; all else is the infrastructure's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """One request that a model did not answer."""

    kind: ModelErrorKind
    status: int | None  # of HTTP; None where no answer came
    message: str  # of the provider, keys removed


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What an agent's model calls came to; `cost_usd` is None when no price is known."""

    requests: int = 0
    input_tokens: int = 0  # all of them, cached ones included
    output_tokens: int = 0  # reasoning included
    cached_tokens: int = 0  # of the input, read from the provider's cache
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraffic:
    """All that passed through a door."""

    usage: ModelUsage = ModelUsage()
    errors: Mapping[ModelErrorKind, int] = field(default_factory=lambda: MappingProxyType({}))
    last_failure: ModelFailure | None = None  # the last request's, when no later one was answered
    over_budget: bool = False  # a request was refused since the budget was spent
    findings: tuple[Finding, ...] = ()


class ModelEndpoint(Protocol):
    """A way to a model, for one attempt."""

    @property
    def model(self) -> str:
        """The model's name, as its provider knows it."""

    @property
    def api_formats(self) -> tuple[ApiFormat, ...]:
        """What can be spoken here, the model's main wire first."""

    @property
    def token(self) -> str:
        """Stands in the place of the API key."""

    @property
    def socket(self) -> Path:
        """Where the gateway listens, on this machine, in a folder that holds nothing else."""

    def traffic(self) -> ModelTraffic:
        """What has passed so far."""


class ModelGateway(Protocol):
    """What opens doors to one model for the attempts of a run."""

    @property
    def model(self) -> str:
        """The model's name, as its provider knows it."""

    @property
    def api_formats(self) -> tuple[ApiFormat, ...]:
        """What can be spoken at its doors, the model's main wire first."""

    def open_endpoint(
        self, *, budget_usd: float, log: Path, lane: str = ""
    ) -> AbstractContextManager[ModelEndpoint]:
        """A door for one attempt; what it has open is cut when the block ends.

        Args:
            budget_usd: What the attempt may spend.
            log: Where the exchanges are written, one JSON line each.
            lane: Names the attempt in a recording.
        """
