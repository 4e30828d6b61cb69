from pathlib import PurePosixPath

import pytest

from agentbench.agents.interface import Budget
from agentbench.extensions.llm.agent import opening_conversation, prompt
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL
from agentbench.tasks.problem import Problem


def test_the_tools_that_the_rules_name_are_there():
    rules = prompt("system", network="There is no network.")
    named = {word.strip(":,.") for word in rules.split("`")[1::2]}
    assert named <= set(EFFECT_OF_TOOL)
    assert "submit" in named


def test_every_place_of_a_text_wants_a_value():
    with pytest.raises(KeyError):
        prompt("task", instruction="x")


@pytest.mark.parametrize(
    ("network", "line"),
    [
        (False, "- There is no network. Tests"),
        (True, "- There is a network. Tests"),
        (("pypi.org", "*.a.org"), "these hosts, by the proxy in the usual variables: pypi.org, "),
    ],
)
def test_the_model_is_told_its_network(
    network: bool | tuple[str, ...], line: str, problem: Problem, budget: Budget
) -> None:
    asked = problem.replace(network=network)
    assert line in opening_conversation(asked, PurePosixPath("/w"), budget).system
