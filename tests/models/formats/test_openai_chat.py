from agentbench.models.formats.openai_chat import OpenAIChatFormat
from agentbench.models.interface import ModelErrorKind, TokenCounts


def test_a_spent_quota_bears_the_code_that_clients_look_for() -> None:
    error = OpenAIChatFormat().error_body(ModelErrorKind.QUOTA, 403, "spent")["error"]
    assert error == {
        "message": "spent",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }


def test_what_openai_has_no_code_for_bears_our_own() -> None:
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


def test_only_a_stream_that_does_not_tell_its_tokens_is_amended() -> None:
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    assert FORMAT.amended(asked) is None
    assert FORMAT.amended({"stream": False}) is None
    other = {"stream": True, "stream_options": {"include_obfuscation": False}}
    assert FORMAT.amended(other)["stream_options"] == {
        "include_obfuscation": False,
        "include_usage": True,
    }
    assert "include_usage" not in other["stream_options"]


def test_an_event_with_tokens_and_choices_is_not_ours_to_drop() -> None:
    usage = {"prompt_tokens": 1}
    assert FORMAT.is_extra({"choices": [], "usage": usage})
    assert not FORMAT.is_extra({"choices": [{"delta": {}}], "usage": usage})
    assert not FORMAT.is_extra({"choices": [], "prompt_filter_results": []})


def test_the_end_a_refusal_and_an_error_are_seen() -> None:
    assert FORMAT.ends({"choices": [{"finish_reason": "length"}]})
    assert not FORMAT.ends({"choices": [{"finish_reason": None}]})
    assert not FORMAT.ends({"choices": []})
    assert FORMAT.refuses({"choices": [{"finish_reason": "content_filter"}]})
    assert FORMAT.refuses({"choices": [{"message": {"refusal": "no"}}]})
    assert FORMAT.refuses({"choices": [{"delta": {"refusal": "no"}}]})
    assert not FORMAT.refuses({"choices": [{"message": {"refusal": None}}]})
    assert FORMAT.error({"error": {"message": "x"}}) == {"error": {"message": "x"}}
    assert FORMAT.error({"choices": []}) is None
