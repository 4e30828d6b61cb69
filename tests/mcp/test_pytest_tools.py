import pytest

from agentbench.mcp.pytest_tools import ExplainArguments
from agentbench.test_tools.arguments import InvalidArgumentsError, read_arguments


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
