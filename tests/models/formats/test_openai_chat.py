import json

import pytest

from agentbench.models.conversation import StopReason
from agentbench.models.formats.openai_chat import OpenAIChatFormat
from agentbench.models.interface import ApiFormat, ModelErrorKind, TokenCounts
from tests.fakes.scripted_model import Call, Calls, Raw, Say
from tests.models.conftest import a_call, a_turn, answer_of, failure_of, said
from tests.models.raw import openai_chunks, openai_piece


def test_spent_quota_has_code_of_openai() -> None:
    error = OpenAIChatFormat().error_body(ModelErrorKind.QUOTA, 403, "spent")["error"]
    assert error == {
        "message": "spent",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }


def test_other_errors_have_own_code() -> None:
    body = OpenAIChatFormat().error_body(ModelErrorKind.TIMEOUT, 504, "")
    assert body["error"]["code"] == "timeout"


FORMAT = OpenAIChatFormat()


def test_tokens_are_read_with_their_details() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    }
    assert FORMAT.tokens({"usage": usage}) == TokenCounts(
        input=10, output=3, cached=4, cache_written=2
    )
    assert FORMAT.tokens({"usage": {"prompt_tokens": 1, "prompt_tokens_details": None}}).input == 1
    assert FORMAT.tokens({"usage": None}, TokenCounts(input=7)) == TokenCounts(input=7)


def test_only_streams_without_usage_are_amended() -> None:
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    assert FORMAT.amended(asked) is None
    assert FORMAT.amended({"stream": False}) is None
    other = {"stream": True, "stream_options": {"include_obfuscation": False}}
    assert FORMAT.amended(other)["stream_options"] == {
        "include_obfuscation": False,
        "include_usage": True,
    }
    assert "include_usage" not in other["stream_options"]


def test_usage_event_with_choices_is_forwarded() -> None:
    usage = {"prompt_tokens": 1}
    assert FORMAT.is_extra({"choices": [], "usage": usage})
    assert not FORMAT.is_extra({"choices": [{"delta": {}}], "usage": usage})
    assert not FORMAT.is_extra({"choices": [], "prompt_filter_results": []})


def test_end_refusal_and_error_are_recognised() -> None:
    assert FORMAT.ends({"choices": [{"finish_reason": "length"}]})
    assert not FORMAT.ends({"choices": [{"finish_reason": None}]})
    assert not FORMAT.ends({"choices": []})
    assert FORMAT.refuses({"choices": [{"finish_reason": "content_filter"}]})
    assert FORMAT.refuses({"choices": [{"message": {"refusal": "no"}}]})
    assert FORMAT.refuses({"choices": [{"delta": {"refusal": "no"}}]})
    assert not FORMAT.refuses({"choices": [{"message": {"refusal": None}}]})
    assert FORMAT.error({"error": {"message": "x"}}) == {"error": {"message": "x"}}
    assert FORMAT.error({"choices": []}) is None


@pytest.fixture
def chat(clients):
    return lambda script: clients(ApiFormat.OPENAI_CHAT, script)


def messages_of(chat, *turns, **changes):
    """What a conversation is on the wire."""
    with chat([Say("ok")]) as (client, scripted):
        answer_of(client, said(*turns, **changes))
        return scripted.asked[-1].body["messages"]


def test_text_and_calls_are_joined(chat):
    calls = [Call("run", {"command": "ls -la | grep ü"}), Call("read_file", {"path": "a.py"})]
    with chat([Calls(calls, text="I will look around.")]) as (client, _):
        answer = answer_of(client)
    assert (answer.text, answer.stop) == ("I will look around.", StopReason.DONE)
    assert [call.name for call in answer.tool_calls] == ["run", "read_file"]
    assert [json.loads(call.arguments) for call in answer.tool_calls] == [
        {"command": "ls -la | grep ü"},
        {"path": "a.py"},
    ]
    assert len({call.id for call in answer.tool_calls}) == 2


def test_conversation_is_sent_in_order(chat):
    turns = (
        a_turn(a_call(), a_call("read_file", call_id="c2"), text="first"),
        a_turn(text="hm", note="use a tool"),
        a_turn(text="", note="use a tool"),
    )
    assert messages_of(chat, *turns) == [
        {"role": "system", "content": "the rules"},
        {"role": "user", "content": "the report"},
        {
            "role": "assistant",
            "content": "first",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "run", "arguments": '{"command": "ls"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"command": "ls"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "did run"},
        {"role": "tool", "tool_call_id": "c2", "content": "did read_file"},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": "use a tool"},
        {"role": "user", "content": "use a tool"},
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("a b", "{", ("a_b", "{}")),
        ("", "[1]", ("unknown", "{}")),
        ("x" * 99, '{"a": 1}', ("x" * 64, '{"a": 1}')),
        ("ü", "[" * 9999, ("_", "{}")),
    ],
)
def test_malformed_calls_are_repaired_when_sent_back(chat, name, arguments, printed):
    turn = a_turn(a_call(name, arguments))
    function = messages_of(chat, turn)[2]["tool_calls"][0]["function"]
    assert (function["name"], function["arguments"]) == printed


@pytest.mark.parametrize(
    "deltas",
    [
        [[openai_piece(0, "x", "run", '{"a"')], [openai_piece(0, None, None, ": 1}")]],
        [[openai_piece(None, "x", "run", '{"a": 1}')]],
        [[openai_piece(0, None, "run", '{"a": 1}')]],
        [[openai_piece(0, "x", "run", None)], [openai_piece(0, "x", None, '{"a": 1}')]],
        [[openai_piece(0, "x", "run", '{"a": 1}')], [{"index": 0}]],
        [[openai_piece(0, "x", "run", {"a": 1})]],
        [[openai_piece(None, None, "run", {"a": 1})]],
        [[openai_piece(0, "x", "run", None)], [openai_piece(0, None, None, {"a": 1})]],
        [[openai_piece(0, "x", "run", {"a": 1})], [openai_piece(0, "x", "run", {"a": 1})]],
        [[openai_piece(0, "x", "run", {"a": 1})], [openai_piece(0, None, None, "")]],
        [[openai_piece(0, "x", "run", r'"{\"a\": 1}"')]],
        [[openai_piece(0, "x", "run", r'"{\"a\"')], [openai_piece(0, None, None, r': 1}"')]],
    ],
)
def test_call_is_joined_from_any_chunks(chat, deltas):
    raw = openai_chunks(*({"tool_calls": pieces} for pieces in deltas), finish="tool_calls")
    with chat([raw]) as (client, _):
        (call,) = answer_of(client).tool_calls
    assert (call.name, call.arguments) == ("run", '{"a": 1}')
    assert call.id


@pytest.mark.parametrize("index", [0, None])
def test_unnumbered_calls_are_separated_by_id(chat, index):
    pieces = [openai_piece(index, name, "run", '{"a": 1}') for name in ("x", "y")]
    raw = openai_chunks(*({"tool_calls": [piece]} for piece in pieces), finish="tool_calls")
    with chat([raw]) as (client, _):
        assert [call.id for call in answer_of(client).tool_calls] == ["x", "y"]


def test_extra_fields_of_call_are_sent_back(chat):
    signed = {"google": {"thought_signature": "abc"}}
    raw = openai_chunks(
        {"tool_calls": [openai_piece(0, "x", "run", "{}", extra_content=signed)]},
        finish="tool_calls",
    )
    with chat([raw, Say("ok")]) as (client, scripted):
        answer = answer_of(client)
        answer_of(client, said(a_turn(*answer.tool_calls)))
        message = scripted.asked[-1].body["messages"][2]
    assert message["tool_calls"][0]["extra_content"] == signed


@pytest.mark.parametrize(
    ("deltas", "stored"),
    [
        (
            [{"reasoning_content": "I "}, {"reasoning_content": "think"}],
            {"reasoning_content": "I think"},
        ),
        ([{"reasoning_content": None}], {"reasoning_content": ""}),
        (
            [{"reasoning_details": [{"n": 1}]}, {"reasoning_details": [{"n": 2}]}],
            {"reasoning_details": [{"n": 1}, {"n": 2}]},
        ),
        ([{"other": 1}], {}),
    ],
)
def test_reasoning_is_sent_back_with_calls(chat, deltas, stored):
    call = {"tool_calls": [openai_piece(0, "x", "run", "{}")]}
    with chat([openai_chunks(*deltas, call, finish="tool_calls"), Say("")]) as (client, scripted):
        answer = answer_of(client)
        answer_of(client, said(a_turn(*answer.tool_calls, extra=answer.extra)))
        message = scripted.asked[-1].body["messages"][2]
    printed = {"role", "content", "tool_calls"}
    assert {name: value for name, value in message.items() if name not in printed} == stored


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", StopReason.DONE),
        ("tool_calls", StopReason.DONE),
        ("length", StopReason.CUT_OFF),
        ("content_filter", StopReason.REFUSED),
    ],
)
def test_stop_reason_is_read(chat, finish, stop):
    with chat([openai_chunks({"content": "x"}, finish=finish)]) as (client, _):
        assert answer_of(client).stop is stop


def test_refusal_text_is_a_refusal(chat):
    with chat([openai_chunks({"refusal": "no"})]) as (client, _):
        assert answer_of(client).stop is StopReason.REFUSED


STREAM = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    "raw",
    [
        openai_chunks({"content": "x"}, finish=None),
        Raw(b"", headers=STREAM),
        Raw(b"data: {nope\n\n", headers=STREAM),
        Raw(b"data: [1, 2]\n\n", headers=STREAM),
        Raw(b'data: {"choices": 3}\n\n', headers=STREAM),
        Raw(b'data: {"choices": [{"delta": {"tool_calls": [4]}}]}\n\n', headers=STREAM),
        Raw(b"<html>welcome</html>", headers={"content-type": "text/html"}),
    ],
    ids=str,
)
def test_malformed_answer_is_a_transient_failure(chat, raw):
    with chat([raw]) as (client, _):
        error = failure_of(client)
    assert error.may_retry
    assert error.failure.kind in {ModelErrorKind.CUT_STREAM, ModelErrorKind.SERVER_ERROR}


def test_empty_chunks_are_ignored(chat):
    empty = (
        b'data: {"id": "c", "choices": []}\n\ndata: {"choices": [{"delta": null}]}\n\n: ping\n\n'
    )
    raw = Raw(empty + openai_chunks({"content": "x"}).body, headers=STREAM)
    with chat([raw]) as (client, _):
        assert answer_of(client).text == "x"


@pytest.mark.parametrize("content", [[{"type": "text", "text": "hm"}], [{"text": "hm"}], "hm"])
def test_text_is_read_as_a_string_and_in_parts(chat, content):
    with chat([openai_chunks({"content": content})]) as (client, _):
        assert answer_of(client).text == "hm"
