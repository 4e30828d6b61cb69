from agentbench.models.formats.gemini_generate import GeminiGenerateFormat
from agentbench.models.interface import TokenCounts

FORMAT = GeminiGenerateFormat()


def test_thoughts_and_tool_tokens_count() -> None:
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 5,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 20,
    }
    assert FORMAT.tokens({"usageMetadata": usage}) == TokenCounts(input=15, output=5, cached=4)
    assert FORMAT.tokens({}, TokenCounts(input=1)) == TokenCounts(input=1)


def test_end_refusal_and_error_are_recognised() -> None:
    assert FORMAT.ends({"candidates": [{"finishReason": "STOP"}]})
    assert not FORMAT.ends({"candidates": [{"content": {}}]})
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert FORMAT.ends(blocked)
    assert FORMAT.refuses(blocked)
    assert FORMAT.refuses({"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]})
    assert not FORMAT.refuses({"candidates": [{"finishReason": "MAX_TOKENS"}]})
    assert FORMAT.error({"error": {"code": 500}}) == {"error": {"code": 500}}
    assert FORMAT.error({"candidates": []}) is None
