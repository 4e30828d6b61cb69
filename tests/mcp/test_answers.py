import json

from agentbench.mcp.pytest_tools import call_result, explanation_answer, internal_error
from agentbench.test_tools.envelope import PytestAnswer


def test_an_explanation_is_no_error():
    result = call_result(explanation_answer("one\ntwo"))
    assert not result.is_error
    assert json.loads(result.content[0].text) == result.structured_content


def test_a_bug_is_an_error_that_tells_no_more_than_where_its_traceback_is():
    result = call_result(internal_error("abc123"))
    assert result.is_error
    assert set(result.structured_content) == set(PytestAnswer.model_fields)
    assert result.structured_content["error"]["code"] == -32603
    assert result.structured_content["error"]["data"]["incident"] == "abc123"
