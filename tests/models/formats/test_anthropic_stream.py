import pytest

from agentbench.models.conversation import ModelAnswer, StopReason
from agentbench.models.formats.anthropic_messages import StreamedMessage


def streamed(*events, stop="end_turn"):
    end = {"type": "message_delta", "delta": {"stop_reason": stop}}
    return StreamedMessage([*events, end]).answer()


def block(index, **content):
    return {"type": "content_block_start", "index": index, "content_block": content}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.DONE),
        ("tool_use", StopReason.DONE),
        ("max_tokens", StopReason.CUT_OFF),
        ("model_context_window_exceeded", StopReason.CUT_OFF),
        ("refusal", StopReason.REFUSED),
        ("something new", StopReason.DONE),
    ],
)
def test_the_reason_to_stop_is_told(reason, stop):
    assert streamed(stop=reason).stop is stop


def test_a_block_may_come_in_one_piece():
    answer = streamed(
        block(0, type="text", text="all of it"),
        block(1, type="tool_use", id="c", name="run", input={"command": "ls"}),
    )
    assert answer.text == "all of it"
    assert answer.tool_calls[0].arguments == '{"command": "ls"}'


@pytest.mark.parametrize("piece", ['{"command": "ls"}', {"command": "ls"}], ids=["text", "object"])
def test_a_delta_may_have_the_arguments_as_an_object(piece):
    answer = streamed(
        block(0, type="tool_use", id="c", name="run", input={}),
        {"type": "content_block_delta", "index": 0, "delta": {"partial_json": piece}},
    )
    assert answer.tool_calls[0].arguments == '{"command": "ls"}'


def test_what_is_not_known_is_passed_over():
    answer = streamed(
        {"type": "ping"},
        block(0, type="hologram", light="blue"),
        {"type": "content_block_delta", "index": 0, "delta": {"light": "red"}},
        {"type": "content_block_delta", "index": 7, "delta": {"text": "lost"}},
        {"type": "content_block_start", "index": 1, "content_block": None},
        {},
    )
    assert answer == ModelAnswer()


def test_a_message_that_does_not_say_why_it_stops_was_cut():
    assert streamed(block(0, type="text", text="half"), stop=None) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "[" * 99_999, "null"])
def test_arguments_that_are_no_object_are_sent_back_as_none(text):
    answer = streamed(
        block(0, type="thinking", thinking="hm"),
        block(1, type="tool_use", id="c", name="run", input=text),
    )
    assert answer.tool_calls[0].arguments == text
    assert answer.verbatim[1] == {"type": "tool_use", "id": "c", "name": "run", "input": {}}
