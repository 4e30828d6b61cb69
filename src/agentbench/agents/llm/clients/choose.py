"""Which client speaks to a model: by what its door offers."""

from collections.abc import Iterator
from contextlib import contextmanager

from agentbench.agents.llm.clients.interface import Client
from agentbench.agents.model_door import ModelDoor, Wire
from agentbench.errors import LLMError


@contextmanager
def client_for(door: ModelDoor) -> Iterator[Client]:
    """A client, closed at the end; its library is imported now, not before.

    Raises:
        LLMError: the door offers no wire that there is a client for.
    """
    client = _client(door)
    try:
        yield client
    finally:
        client.close()


def chosen_wire(door: ModelDoor) -> Wire:
    """The wire to speak: chat completions, unless the model is at home on messages.

    Servers that offer both (vLLM, llama.cpp, Ollama) speak chat completions for longer. Claude's
    own service offers chat completions for tests alone, so messages are its wire.

    Raises:
        LLMError: neither is offered.
    """
    offered = {Wire.OPENAI_CHAT, Wire.ANTHROPIC_MESSAGES}.intersection(door.wires)
    if not offered:
        found = ", ".join(sorted(door.wires)) or "nothing"
        expected = f"{Wire.OPENAI_CHAT} or {Wire.ANTHROPIC_MESSAGES}"
        raise LLMError(f"the llm agent speaks {expected}; {door.model} is offered by {found}")
    if len(offered) == 1:
        return next(iter(offered))
    claude = "claude" in door.model.lower()
    return Wire.ANTHROPIC_MESSAGES if claude else Wire.OPENAI_CHAT


def _client(door: ModelDoor) -> Client:
    if chosen_wire(door) is Wire.ANTHROPIC_MESSAGES:
        from agentbench.agents.llm.clients.anthropic_messages import AnthropicMessages

        return AnthropicMessages(door)
    from agentbench.agents.llm.clients.openai_chat import OpenAIChat

    return OpenAIChat(door)
