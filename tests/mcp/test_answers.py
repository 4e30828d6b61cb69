import json

from agentbench.mcp.answers import bug, call_result, explained
from agentbench.pytest_results.tool_calls.envelope import Envelope


def test_an_explanation_is_no_error():
    result = call_result(explained("one\ntwo"))
    assert not result.is_error
    assert json.loads(result.content[0].text) == result.structured_content


def test_a_bug_is_an_error_that_tells_no_more_than_where_its_traceback_is():
    result = call_result(bug("abc123"))
    assert result.is_error
    assert set(result.structured_content) == set(Envelope.model_fields)
    assert result.structured_content["error"]["code"] == -32603
    assert result.structured_content["error"]["data"]["incident"] == "abc123"
