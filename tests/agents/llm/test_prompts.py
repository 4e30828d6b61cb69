import pytest

from agentbench.agents.llm.agent import prompt
from agentbench.agents.llm.tools import EFFECT_OF_TOOL


def test_the_tools_that_the_rules_name_are_there():
    rules = prompt("system")
    named = {word.strip(":,.") for word in rules.split("`")[1::2]}
    assert named <= set(EFFECT_OF_TOOL)
    assert "submit" in named


def test_every_place_of_a_text_wants_a_value():
    with pytest.raises(KeyError):
        prompt("task", instruction="x")
