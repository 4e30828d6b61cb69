"""Every wire, and which one a path belongs to."""

import re
from dataclasses import dataclass
from types import MappingProxyType

from agentbench.agents.gateway.wires.anthropic_messages import AnthropicMessages
from agentbench.agents.gateway.wires.gemini_generate import GeminiGenerate
from agentbench.agents.gateway.wires.openai_chat import OpenAIChat
from agentbench.agents.gateway.wires.openai_responses import OpenAIResponses
from agentbench.agents.gateway.wires.wire_format import WireFormat
from agentbench.agents.model_door import Wire

FORMATS = MappingProxyType[Wire, WireFormat](
    {
        Wire.OPENAI_CHAT: OpenAIChat(),
        Wire.OPENAI_RESPONSES: OpenAIResponses(),
        Wire.ANTHROPIC_MESSAGES: AnthropicMessages(),
        Wire.GEMINI_GENERATE: GeminiGenerate(),
    }
)

# Clients put `/v1` behind addresses that have it already, and leave it out where it is missing.
_VERSIONS = r"/(?:(?:v1|v1beta|v1alpha|openai)/)*"
_PATHS = (
    (Wire.OPENAI_CHAT, re.compile(rf"{_VERSIONS}chat/completions/?")),
    (Wire.OPENAI_RESPONSES, re.compile(rf"{_VERSIONS}responses/?")),
    (Wire.ANTHROPIC_MESSAGES, re.compile(rf"{_VERSIONS}messages(?P<count>/count_tokens)?/?")),
    (
        Wire.GEMINI_GENERATE,
        re.compile(
            rf"{_VERSIONS}models/(?P<model>[A-Za-z0-9][A-Za-z0-9._-]*)"
            r":(?P<action>generateContent|streamGenerateContent|(?P<count>countTokens))"
        ),
    ),
)
_OTHERS = (
    (Wire.ANTHROPIC_MESSAGES, re.compile(rf"{_VERSIONS}messages/.*|/api/.*")),
    (Wire.GEMINI_GENERATE, re.compile(r"/v1(beta|alpha)/.*")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a request goes by its path."""

    wire: Wire
    counts_only: bool = False  # asks how many tokens something has; no model answers
    model: str = ""  # where the path names it
    action: str = ""  # of Google's wire

    @property
    def format(self) -> WireFormat:
        """What is known about its wire."""
        return FORMATS[self.wire]


def route_of(path: str) -> Route | None:
    """Where a path leads; None if not to a model."""
    for wire, pattern in _PATHS:
        if found := pattern.fullmatch(path):
            named = found.groupdict()
            return Route(
                wire=wire,
                counts_only=bool(named.get("count")),
                model=named.get("model") or "",
                action=named.get("action") or "",
            )
    return None


def likely_format(path: str) -> WireFormat:
    """In whose form to answer a request whose path leads nowhere."""
    for wire, pattern in _OTHERS:
        if pattern.fullmatch(path):
            return FORMATS[wire]
    return FORMATS[Wire.OPENAI_CHAT]
