from dataclasses import dataclass

import pytest

from agentbench.agents.llm.clients.choose import chosen_wire
from agentbench.agents.model_door import Wire
from agentbench.errors import LLMError

CHAT, MESSAGES = Wire.OPENAI_CHAT, Wire.ANTHROPIC_MESSAGES


@dataclass
class Offer:
    """As much of a door as is looked at."""

    model: str
    wires: tuple[Wire, ...]


@pytest.mark.parametrize(
    ("model", "wires", "wire"),
    [
        ("gpt-5", {CHAT, Wire.OPENAI_RESPONSES}, CHAT),
        ("claude-opus-5", {MESSAGES}, MESSAGES),
        ("qwen3", {CHAT, MESSAGES}, CHAT),
        ("anthropic/claude-opus-5", {CHAT, MESSAGES}, MESSAGES),
        ("claude-opus-5", {CHAT}, CHAT),
        ("qwen3", {MESSAGES, Wire.GEMINI_GENERATE}, MESSAGES),
    ],
)
def test_the_wire_is_one_that_is_offered_and_that_the_model_is_at_home_on(model, wires, wire):
    assert chosen_wire(Offer(model, tuple(wires))) is wire


@pytest.mark.parametrize(
    ("wires", "found"),
    [({Wire.GEMINI_GENERATE}, "gemini-generate"), (set(), "nothing")],
)
def test_where_no_wire_fits_it_is_said_what_was_expected_and_found(wires, found):
    with pytest.raises(LLMError) as caught:
        chosen_wire(Offer("m", tuple(wires)))
    assert str(caught.value) == (
        f"the llm agent speaks openai-chat or anthropic-messages; m is offered by {found}"
    )
