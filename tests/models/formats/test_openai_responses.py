from agentbench.models.formats.openai_responses import OpenAIResponsesFormat
from agentbench.models.interface import TokenCounts

FORMAT = OpenAIResponsesFormat()
USAGE = {
    "input_tokens": 10,
    "output_tokens": 3,
    "input_tokens_details": {"cached_tokens": 4},
}


def test_tokens_are_read_from_answer_and_last_event() -> None:
    result = TokenCounts(input=10, output=3, cached=4)
    assert FORMAT.tokens({"usage": USAGE}) == result
    assert FORMAT.tokens({"type": "response.completed", "response": {"usage": USAGE}}) == result
    assert FORMAT.tokens({"type": "response.created", "response": {"usage": None}}) is None


def test_end_refusal_and_error_are_recognised() -> None:
    for kind in ("completed", "incomplete", "failed"):
        assert FORMAT.ends({"type": f"response.{kind}"})
    assert not FORMAT.ends({"type": "response.output_text.delta"})
    filtered = {"incomplete_details": {"reason": "content_filter"}}
    assert FORMAT.refuses({"type": "response.incomplete", "response": filtered})
    assert FORMAT.refuses({"output": [{"content": [{"type": "refusal"}]}]})
    assert not FORMAT.refuses({"output": [{"content": [{"type": "output_text"}]}, {}]})
    failed = {"type": "response.failed", "response": {"error": {"code": "x"}}}
    assert FORMAT.error(failed) == {"error": {"code": "x"}}
    flat = {"type": "error", "code": "x", "message": "m"}
    assert FORMAT.error(flat) == {"error": flat}
    assert FORMAT.error({"type": "error", "error": {"code": "y"}}) == {"error": {"code": "y"}}
    assert FORMAT.error({"type": "response.completed", "response": {"error": None}}) is None
