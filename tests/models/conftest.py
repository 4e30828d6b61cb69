from contextlib import contextmanager
from datetime import timedelta

import pytest

from agentbench.models.conversation import (
    Conversation,
    ConversationTurn,
    ModelAnswer,
    ModelToolCall,
    ToolReply,
    ToolSpec,
    UnansweredError,
)
from agentbench.models.formats.registry import open_client
from agentbench.models.interface import ApiFormat
from tests.fakes.scripted_model import ScriptedModel
from tests.models.gateway.endpoint_clients import endpoint_to
from tests.patience import HANG_SECONDS

MODELS = {ApiFormat.OPENAI_CHAT: "scripted", ApiFormat.ANTHROPIC_MESSAGES: "scripted-claude"}
"""Names without a price and a window; the agent speaks the wire that a name stands for."""
TOOLS = (
    ToolSpec(
        name="run",
        description="Run a shell command.",
        schema={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
            "additionalProperties": False,
        },
    ),
)
NOTHING = Conversation(system="the rules", task="the report")


def said(*turns, **changes):
    """A conversation of some turns."""
    return Conversation(system="the rules", task="the report", turns=turns, **changes)


def a_call(name="run", arguments='{"command": "ls"}', *, call_id="c1", **more):
    return ModelToolCall(id=call_id, name=name, arguments=arguments, **more)


def a_turn(*calls, text="", note="", failed=False, **more):
    """A turn in which each call was answered with its name."""
    replies = tuple(ToolReply(text=f"did {call.name}", failed=failed) for call in calls)
    return ConversationTurn(
        answer=ModelAnswer(text=text, tool_calls=calls, **more), replies=replies, note=note
    )


@pytest.fixture
def clients(tmp_path):
    """Opens a client of a wire on a script, through a gateway."""

    @contextmanager
    def opened(wire, script):
        with (
            ScriptedModel(script) as scripted,
            endpoint_to(scripted, tmp_path / "log", model=MODELS[wire]) as endpoint,
            open_client(endpoint) as client,
        ):
            yield client, scripted

    return opened


def answer_of(client, conversation=NOTHING, seconds=HANG_SECONDS):
    return client.complete(conversation, TOOLS, timeout=timedelta(seconds=seconds))


def failure_of(client, conversation=NOTHING, seconds=HANG_SECONDS):
    with pytest.raises(UnansweredError) as caught:
        answer_of(client, conversation, seconds)
    return caught.value
