"""The table of API formats, the format of a path, and the client for a model."""

import re
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from types import MappingProxyType

from agentbench.errors import LLMError
from agentbench.models.conversation import ModelClient
from agentbench.models.formats import anthropic_messages, gemini_generate, openai_chat
from agentbench.models.formats.interface import FormatAdapter
from agentbench.models.formats.openai_responses import OpenAIResponsesFormat
from agentbench.models.interface import ApiFormat, ModelEndpoint

_ADAPTERS: tuple[FormatAdapter, ...] = (
    openai_chat.OpenAIChatFormat(),
    OpenAIResponsesFormat(),
    anthropic_messages.AnthropicMessagesFormat(),
    gemini_generate.GeminiGenerateFormat(),
)
FORMATS = MappingProxyType({each.api_format: each for each in _ADAPTERS})

# Clients append `/v1` to addresses that have it already, and omit it from others.
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
    """The meaning of a request's path."""

    api_format: ApiFormat
    counts_only: bool = False  # only counts tokens, without the model
    model: str = ""  # if the path names it
    action: str = ""  # of Google's format

    @property
    def format(self) -> FormatAdapter:
        """The adapter of its format."""
        return FORMATS[self.api_format]


def route_of(path: str) -> ApiRoute | None:
    """The route of a path; None if it does not lead to a model."""
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
    """The format for answering a request with an unknown path."""
    for wire, pattern in _LIKELY_PATHS:
        if pattern.fullmatch(path):
            return FORMATS[wire]
    return FORMATS[ApiFormat.OPENAI_CHAT]


def open_client(endpoint: ModelEndpoint) -> AbstractContextManager[ModelClient]:
    """A client, closed at the end of the block; its library is imported only now.

    Raises:
        LLMError: there is no client for any format of the endpoint.
    """
    if preferred_format(endpoint) is ApiFormat.ANTHROPIC_MESSAGES:
        return closing(anthropic_messages.anthropic_messages_client(endpoint))
    return closing(openai_chat.openai_chat_client(endpoint))


def preferred_format(endpoint: ModelEndpoint) -> ApiFormat:
    """The format to use: chat completions, except for models whose own format is messages.

    Servers with both (vLLM, llama.cpp, Ollama) have supported chat completions for longer. Claude's
    own service offers chat completions only for tests, so its format is messages.

    Raises:
        LLMError: neither is offered.
    """
    offered = {ApiFormat.OPENAI_CHAT, ApiFormat.ANTHROPIC_MESSAGES}.intersection(
        endpoint.api_formats
    )
    if not offered:
        found = ", ".join(sorted(endpoint.api_formats)) or "nothing"
        expected = f"{ApiFormat.OPENAI_CHAT} or {ApiFormat.ANTHROPIC_MESSAGES}"
        raise LLMError(f"the llm agent supports {expected}; {endpoint.model} offers {found}")
    if len(offered) == 1:
        return next(iter(offered))
    claude = "claude" in endpoint.model.lower()
    return ApiFormat.ANTHROPIC_MESSAGES if claude else ApiFormat.OPENAI_CHAT
