import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.extensions.llm.tool import Tool
from agentbench.models.conversation import ToolReply
from agentbench.test_tools.agent_texts import ToolText, escape_control, terminal_text
from agentbench.test_tools.arguments import InvalidArgumentsError, ToolArguments

ANY = st.text(st.characters(exclude_categories=[]), max_size=50)


@given(ANY)
def test_whatever_comes_can_be_sent_and_shown(text):
    for safe in (escape_control(text), terminal_text(text)):
        assert json.loads(json.dumps(safe).encode()) == safe
        safe.encode()
        assert not any(character < " " and character not in "\n\t" for character in safe)
        assert not any("\x7f" <= character <= "\x9f" for character in safe)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=50))
def test_plain_text_stays(text):
    assert escape_control(text) == terminal_text(text) == text


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("a\x00b\x08", "a\\x00b\\x08"),
        ("\ud83d", "\ufffd"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_what_only_a_terminal_obeys_is_gone(printed, shown):
    assert terminal_text(printed) == shown


def test_in_a_file_an_escape_is_shown_for_it_is_part_of_the_file():
    assert escape_control("\x1b[1m\tx\r") == "\\x1b[1m\tx\\x0d"


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
