import json

import pytest

from agentbench.models.conversation import ModelAnswer, StopReason
from agentbench.models.formats.anthropic_messages import AnthropicMessagesFormat, StreamedMessage
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts
from tests.fakes.scripted_model import Call, Calls, Raw, Say
from tests.models.conftest import a_call, a_turn, answer_of, failure_of, said
from tests.models.raw import anthropic_events

FORMAT = AnthropicMessagesFormat()


def test_cached_tokens_count_as_input() -> None:
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


def test_tokens_of_stream_are_combined() -> None:
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


def test_end_refusal_and_error_are_recognised() -> None:
    assert FORMAT.ends({"type": "message_stop"})
    assert not FORMAT.ends({"type": "message_delta"})
    assert FORMAT.refuses({"stop_reason": "refusal"})
    assert FORMAT.refuses({"type": "message_delta", "delta": {"stop_reason": "refusal"}})
    assert not FORMAT.refuses({"stop_reason": "end_turn"})
    error = {"type": "error", "error": {"type": "overloaded_error"}}
    assert FORMAT.error(error) == error
    assert FORMAT.error({"type": "message_stop"}) is None


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
def test_stop_reason_is_read(reason, stop):
    assert streamed(stop=reason).stop is stop


def test_block_may_come_whole():
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


def test_unknown_events_are_ignored():
    answer = streamed(
        {"type": "ping"},
        block(0, type="hologram", light="blue"),
        {"type": "content_block_delta", "index": 0, "delta": {"light": "red"}},
        {"type": "content_block_delta", "index": 7, "delta": {"text": "lost"}},
        {"type": "content_block_start", "index": 1, "content_block": None},
        {},
    )
    assert answer == ModelAnswer()


def test_message_without_stop_reason_is_incomplete():
    assert streamed(block(0, type="text", text="half"), stop=None) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "[" * 99_999, "null"])
def test_malformed_arguments_are_sent_back_empty(text):
    answer = streamed(
        block(0, type="thinking", thinking="hm"),
        block(1, type="tool_use", id="c", name="run", input=text),
    )
    assert answer.tool_calls[0].arguments == text
    assert answer.verbatim[1] == {"type": "tool_use", "id": "c", "name": "run", "input": {}}


CACHED = {"cache_control": {"type": "ephemeral"}}
STREAM = {"content-type": "text/event-stream"}


@pytest.fixture
def messages(clients):
    return lambda script: clients(ApiFormat.ANTHROPIC_MESSAGES, script)


def body_of(messages, *turns, **changes):
    """What a conversation is on the wire."""
    with messages([Say("ok")]) as (client, scripted):
        answer_of(client, said(*turns, **changes))
        return scripted.asked[-1].body


def test_text_and_calls_are_joined(messages):
    calls = [Call("run", {"command": "ls -la | grep ü"}), Call("submit", {})]
    with messages([Calls(calls, text="I will look around.")]) as (client, _):
        answer = answer_of(client)
    assert (answer.text, answer.stop) == ("I will look around.", StopReason.DONE)
    assert [call.name for call in answer.tool_calls] == ["run", "submit"]
    assert [json.loads(call.arguments or "{}") for call in answer.tool_calls] == [
        {"command": "ls -la | grep ü"},
        {},
    ]
    assert answer.verbatim == ()


def test_conversation_is_sent_in_order_and_cached(messages):
    turns = (
        a_turn(a_call(), a_call("read_file", "{", call_id="c2"), text="first", failed=True),
        a_turn(text=" \n", note="use a tool"),
        a_turn(a_call("a b", call_id="c3"), note="shorter"),
    )
    body = body_of(messages, *turns)
    assert body["system"] == [{"type": "text", "text": "the rules", **CACHED}]
    assert body["max_tokens"] == 8_192
    failed = {"type": "tool_result", "is_error": True}
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "the report"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "first"},
                {"type": "tool_use", "id": "c1", "name": "run", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "c2", "name": "read_file", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {**failed, "tool_use_id": "c1", "content": "did run"},
                {**failed, "tool_use_id": "c2", "content": "did read_file"},
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": "use a tool"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c3", "name": "a_b", "input": {"command": "ls"}}
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c3", "content": "did a b"},
                {"type": "text", "text": "shorter", **CACHED},
            ],
        },
    ]


def test_first_request_is_cached(messages):
    assert body_of(messages)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "the report", **CACHED}]}
    ]


def test_thinking_blocks_are_sent_back_verbatim(messages):
    thoughts = [
        {"type": "thinking", "thinking": "I wonder", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZW5j"},
        {"type": "text", "text": " "},
        {"type": "thinking", "thinking": "", "signature": "MnNpZw=="},
        {"type": "tool_use", "id": "c1", "name": "run", "input": {"command": "ls"}},
    ]
    raw = anthropic_events(
        start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        piece(0, {"type": "thinking_delta", "thinking": "I won"}),
        piece(0, {"type": "thinking_delta", "thinking": "der"}),
        piece(0, {"type": "signature_delta", "signature": "c2ln"}),
        start(1, thoughts[1]),
        start(2, {"type": "text", "text": ""}),
        piece(2, {"type": "text_delta", "text": " "}),
        start(3, {"type": "thinking", "thinking": "", "signature": ""}),
        piece(3, {"type": "signature_delta", "signature": "MnNpZw=="}),
        start(4, {"type": "tool_use", "id": "c1", "name": "run", "input": {}}),
        piece(4, {"type": "input_json_delta", "partial_json": '{"command"'}),
        piece(4, {"type": "input_json_delta", "partial_json": ': "ls"}'}),
        stop="tool_use",
    )
    with messages([raw, Say("ok")]) as (client, scripted):
        answer = answer_of(client)
        assert (answer.text, answer.tool_calls) == (" ", (a_call(),))
        answer_of(client, said(a_turn(*answer.tool_calls, verbatim=answer.verbatim)))
        assert scripted.asked[-1].body["messages"][1]["content"] == thoughts


def start(index, block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index, delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


@pytest.mark.parametrize(
    "raw",
    [
        anthropic_events(start(0, {"type": "text", "text": "x"}), stop=None),
        Raw(b"", headers=STREAM),
        Raw(b"event: message_start\ndata: {nope\n\n", headers=STREAM),
        Raw(b"event: message_start\ndata: [1]\n\n", headers=STREAM),
        Raw(
            b'event: message_delta\ndata: {"type": "message_delta", "delta": 3}\n\n', headers=STREAM
        ),
        Raw(b"<html>welcome</html>", headers={"content-type": "text/html"}),
    ],
    ids=str,
)
def test_malformed_answer_is_a_transient_failure(messages, raw):
    with messages([raw]) as (client, _):
        error = failure_of(client)
    assert error.may_retry
    assert error.failure.kind in {ModelErrorKind.CUT_STREAM, ModelErrorKind.SERVER_ERROR}
