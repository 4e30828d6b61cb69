from agentbench.models.formats.anthropic_messages import AnthropicMessagesFormat
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
