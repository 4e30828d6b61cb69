from dataclasses import dataclass

import pytest

from agentbench.errors import LLMError
from agentbench.models.formats.registry import preferred_format
from agentbench.models.interface import ApiFormat

CHAT, MESSAGES = ApiFormat.OPENAI_CHAT, ApiFormat.ANTHROPIC_MESSAGES


@dataclass
class Offer:
    """As much of a door as is looked at."""

    model: str
    api_formats: tuple[ApiFormat, ...]


@pytest.mark.parametrize(
    ("model", "wires", "wire"),
    [
        ("gpt-5", {CHAT, ApiFormat.OPENAI_RESPONSES}, CHAT),
        ("claude-opus-5", {MESSAGES}, MESSAGES),
        ("qwen3", {CHAT, MESSAGES}, CHAT),
        ("anthropic/claude-opus-5", {CHAT, MESSAGES}, MESSAGES),
        ("claude-opus-5", {CHAT}, CHAT),
        ("qwen3", {MESSAGES, ApiFormat.GEMINI_GENERATE}, MESSAGES),
    ],
)
def test_the_wire_is_one_that_is_offered_and_that_the_model_is_at_home_on(model, wires, wire):
    assert preferred_format(Offer(model, tuple(wires))) is wire


@pytest.mark.parametrize(
    ("wires", "found"),
    [({ApiFormat.GEMINI_GENERATE}, "gemini-generate"), (set(), "nothing")],
)
def test_where_no_wire_fits_it_is_said_what_was_expected_and_found(wires, found):
    with pytest.raises(LLMError) as caught:
        preferred_format(Offer("m", tuple(wires)))
    assert str(caught.value) == (
        f"the llm agent supports openai-chat or anthropic-messages; m offers {found}"
    )
