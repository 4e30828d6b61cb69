import pytest

from agentbench.models.conversation import ModelAnswer, StopReason
from agentbench.models.formats.anthropic_messages import AnthropicMessagesFormat, StreamedMessage
from agentbench.models.interface import TokenCounts

FORMAT = AnthropicMessagesFormat()


def test_what_the_cache_had_and_got_is_input_too() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 6,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 5},
        "output_tokens": 3,
    }
    assert FORMAT.tokens({"usage": usage}) == TokenCounts(
        input=20, output=3, cached=4, cache_written=6, cache_written_1h=5
    )


def test_a_stream_tells_its_tokens_bit_by_bit() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}
    start = FORMAT.tokens({"type": "message_start", "message": {"usage": usage}})
    assert start == TokenCounts(input=14, output=1, cached=4)
    end = FORMAT.tokens({"type": "message_delta", "usage": {"output_tokens": 50}}, start)
    assert end == TokenCounts(input=14, output=50, cached=4)
    whole = {"input_tokens": 11, "cache_read_input_tokens": None, "output_tokens": 60}
    assert FORMAT.tokens({"type": "message_delta", "usage": whole}, end) == TokenCounts(
        input=15, output=60, cached=4
    )
    assert FORMAT.tokens({"type": "ping"}, end) == end


def test_the_end_a_refusal_and_an_error_are_seen() -> None:
    assert FORMAT.ends({"type": "message_stop"})
    assert not FORMAT.ends({"type": "message_delta"})
    assert FORMAT.refuses({"stop_reason": "refusal"})
    assert FORMAT.refuses({"type": "message_delta", "delta": {"stop_reason": "refusal"}})
    assert not FORMAT.refuses({"stop_reason": "end_turn"})
    error = {"type": "error", "error": {"type": "overloaded_error"}}
    assert FORMAT.error(error) == error
    assert FORMAT.error({"type": "message_stop"}) is None


def test_nothing_is_amended() -> None:
    assert FORMAT.amended({"stream": True}) is None
    assert not FORMAT.is_extra({})


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
