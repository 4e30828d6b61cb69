"""Every API format, which one a path belongs to, and which client speaks to a model."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from agentbench.errors import LLMError
from agentbench.models.conversation import ModelClient
from agentbench.models.formats.anthropic_messages import AnthropicMessagesFormat
from agentbench.models.formats.gemini_generate import GeminiGenerateFormat
from agentbench.models.formats.interface import FormatAdapter
from agentbench.models.formats.openai_chat import OpenAIChatFormat
from agentbench.models.formats.openai_responses import OpenAIResponsesFormat
from agentbench.models.interface import ApiFormat, ModelEndpoint

FORMATS = MappingProxyType[ApiFormat, FormatAdapter](
    {
        ApiFormat.OPENAI_CHAT: OpenAIChatFormat(),
        ApiFormat.OPENAI_RESPONSES: OpenAIResponsesFormat(),
        ApiFormat.ANTHROPIC_MESSAGES: AnthropicMessagesFormat(),
        ApiFormat.GEMINI_GENERATE: GeminiGenerateFormat(),
    }
)

# Clients put `/v1` behind addresses that have it already, and leave it out where it is missing.
_VERSIONS = r"/(?:(?:v1|v1beta|v1alpha|openai)/)*"
_PATHS = (
    (ApiFormat.OPENAI_CHAT, re.compile(rf"{_VERSIONS}chat/completions/?")),
    (ApiFormat.OPENAI_RESPONSES, re.compile(rf"{_VERSIONS}responses/?")),
    (ApiFormat.ANTHROPIC_MESSAGES, re.compile(rf"{_VERSIONS}messages(?P<count>/count_tokens)?/?")),
    (
        ApiFormat.GEMINI_GENERATE,
        re.compile(
            rf"{_VERSIONS}models/(?P<model>[A-Za-z0-9][A-Za-z0-9._-]*)"
            r":(?P<action>generateContent|streamGenerateContent|(?P<count>countTokens))"
        ),
    ),
)
_LIKELY_PATHS = (
    (ApiFormat.ANTHROPIC_MESSAGES, re.compile(rf"{_VERSIONS}messages/.*|/api/.*")),
    (ApiFormat.GEMINI_GENERATE, re.compile(r"/v1(beta|alpha)/.*")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """Where a request goes by its path."""

    api_format: ApiFormat
    counts_only: bool = False  # asks how many tokens something has; no model answers
    model: str = ""  # where the path names it
    action: str = ""  # of Google's wire

    @property
    def format(self) -> FormatAdapter:
        """What is known about its wire."""
        return FORMATS[self.api_format]


def route_of(path: str) -> ApiRoute | None:
    """Where a path leads; None if not to a model."""
    for wire, pattern in _PATHS:
        if found := pattern.fullmatch(path):
            named = found.groupdict()
            return ApiRoute(
                api_format=wire,
                counts_only=bool(named.get("count")),
                model=named.get("model") or "",
                action=named.get("action") or "",
            )
    return None


def likely_format(path: str) -> FormatAdapter:
    """In whose form to answer a request whose path leads nowhere."""
    for wire, pattern in _LIKELY_PATHS:
        if pattern.fullmatch(path):
            return FORMATS[wire]
    return FORMATS[ApiFormat.OPENAI_CHAT]


@contextmanager
def open_client(door: ModelEndpoint) -> Iterator[ModelClient]:
    """A client, closed at the end; its library is imported now, not before.

    Raises:
        LLMError: the door offers no wire that there is a client for.
    """
    client = _client(door)
    try:
        yield client
    finally:
        client.close()


def preferred_format(door: ModelEndpoint) -> ApiFormat:
    """The wire to speak: chat completions, unless the model is at home on messages.

    Servers that offer both (vLLM, llama.cpp, Ollama) speak chat completions for longer. Claude's
    own service offers chat completions for tests alone, so messages are its wire.

    Raises:
        LLMError: neither is offered.
    """
    offered = {ApiFormat.OPENAI_CHAT, ApiFormat.ANTHROPIC_MESSAGES}.intersection(door.api_formats)
    if not offered:
        found = ", ".join(sorted(door.api_formats)) or "nothing"
        expected = f"{ApiFormat.OPENAI_CHAT} or {ApiFormat.ANTHROPIC_MESSAGES}"
        raise LLMError(f"the llm agent speaks {expected}; {door.model} is offered by {found}")
    if len(offered) == 1:
        return next(iter(offered))
    claude = "claude" in door.model.lower()
    return ApiFormat.ANTHROPIC_MESSAGES if claude else ApiFormat.OPENAI_CHAT


def _client(door: ModelEndpoint) -> ModelClient:
    if preferred_format(door) is ApiFormat.ANTHROPIC_MESSAGES:
        from agentbench.models.formats.anthropic_messages import AnthropicMessagesClient

        return AnthropicMessagesClient(door)
    from agentbench.models.formats.openai_chat import OpenAIChatClient

    return OpenAIChatClient(door)
