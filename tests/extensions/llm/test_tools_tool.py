import pytest

from agentbench.extensions.llm.tool import Tool
from agentbench.models.conversation import ToolReply
from agentbench.test_tools.agent_texts import ToolText
from agentbench.test_tools.arguments import InvalidArgumentsError, ToolArguments


class _Greeting(ToolArguments):
    """What `greet` takes."""

    name: ToolText


GREET = Tool(
    name="greet",
    description="Say hello.",
    arguments=_Greeting,
    act=lambda _desk, arguments: ToolReply(text=f"hello {arguments.name}"),
)


def test_arguments_are_checked_before_a_tool_acts():
    assert GREET.use(None, {"name": "you"}).text == "hello you"
    for wrong in ({}, {"name": 1}, {"name": "a", "x": 1}, {"name": "\0"}, {"name": "\udfff"}):
        with pytest.raises(InvalidArgumentsError):
            GREET.use(None, wrong)


def test_a_model_is_told_the_schema_of_the_arguments():
    assert (GREET.spec.name, GREET.spec.description) == ("greet", "Say hello.")
    assert GREET.spec.schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
