import json

import pytest

from agentbench.mcp.pytest_tools import (
    ExplainArguments,
    call_result,
    explanation_answer,
    internal_error,
)
from agentbench.test_tools.arguments import InvalidArgumentsError, read_arguments
from agentbench.test_tools.envelope import PytestAnswer


def faults_of(model, given):
    with pytest.raises(InvalidArgumentsError) as caught:
        read_arguments(model, given)
    return caught.value.faults


@pytest.mark.parametrize(
    "given",
    [{}, {"exit_code": 1, "reason": "TIMEOUT"}, {"reason": "TIMEOUT", "stage": "setup"}],
    ids=str,
)
def test_a_question_is_about_an_exit_code_or_a_reason(given):
    assert len(faults_of(ExplainArguments, given)) == 1


def test_reasons_and_stages_are_those_of_the_taxonomy():
    assert read_arguments(ExplainArguments, {"reason": "TESTS_FAILED"}).reason == "TESTS_FAILED"
    assert faults_of(ExplainArguments, {"reason": "tests_failed"})
    assert faults_of(ExplainArguments, {"exit_code": 1, "stage": "lunch"})


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
