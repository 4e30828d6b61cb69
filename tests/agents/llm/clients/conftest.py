from contextlib import contextmanager
from datetime import timedelta

import pytest

from agentbench.agents.llm.clients.choose import client_for
from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.conversation import Answer, Conversation, Reply, ToolCall, Turn
from agentbench.agents.llm.tools.workbench import specs
from tests.agents.gateway.at_the_door import door_to
from tests.agents.llm.conftest import MODELS
from tests.fakes.scripted_model import ScriptedModel
from tests.patience import HANG_SECONDS

NOTHING = Conversation(system="the rules", task="the report")


def said(*turns, **changes):
    """A conversation of some turns."""
    return Conversation(system="the rules", task="the report", turns=turns, **changes)


def a_call(name="run", arguments='{"command": "ls"}', *, call_id="c1", **more):
    return ToolCall(id=call_id, name=name, arguments=arguments, **more)


def a_turn(*calls, text="", note="", failed=False, **more):
    """A turn in which each call was answered with its name."""
    replies = tuple(Reply(text=f"did {call.name}", failed=failed) for call in calls)
    return Turn(answer=Answer(text=text, tool_calls=calls, **more), replies=replies, note=note)


@pytest.fixture
def clients(tmp_path):
    """Opens a client of a wire on a script, through a gateway."""

    @contextmanager
    def opened(wire, script):
        with (
            ScriptedModel(script) as scripted,
            door_to(scripted, tmp_path / "log", model=MODELS[wire]) as door,
            client_for(door) as client,
        ):
            yield client, scripted

    return opened


def answer_of(client, conversation=NOTHING, seconds=HANG_SECONDS):
    return client.complete(conversation, specs(), timeout=timedelta(seconds=seconds))


def failure_of(client, conversation=NOTHING, seconds=HANG_SECONDS):
    with pytest.raises(UnansweredError) as caught:
        answer_of(client, conversation, seconds)
    return caught.value
