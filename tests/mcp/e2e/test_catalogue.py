import jsonschema
import pytest

from agentbench.mcp.pytest_tools import PytestTool
from agentbench.mcp.server import describe_tool
from agentbench.test_tools.arguments import InvalidArgumentsError, read_arguments
from tests.mcp.catalogue import check_arguments, check_length, check_schemas

TESTS = tuple(describe_tool(tool, isolated=False) for tool in PytestTool)


@pytest.mark.parametrize("tool", PytestTool)
def test_each_tool_has_closed_schemas_examples_and_a_short_definition(tool):
    described = describe_tool(tool, isolated=False)
    check_schemas(described)
    check_arguments(described, tool.arguments)
    check_length(described)


@pytest.mark.parametrize(
    "arguments", [{"paths": ["-x"]}, {"bogus": 1}, {"keyword": ""}, {"paths": []}, {"paths": "a"}]
)
def test_what_the_schema_refuses_the_server_refuses(arguments):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, TESTS[0].input_schema)
    with pytest.raises(InvalidArgumentsError):
        read_arguments(PytestTool.EXECUTE.arguments, arguments)


def test_of_the_tools_on_tests_only_an_explanation_is_said_to_change_nothing():
    hints = {tool.name: tool.annotations for tool in TESTS}
    assert [name for name, hint in hints.items() if hint.read_only_hint] == ["explain_failure"]
    assert hints["execute_tests"].destructive_hint
    assert hints["execute_tests"].open_world_hint


def test_in_a_sandbox_nothing_outside_can_be_harmed():
    for tool in (describe_tool(tool, isolated=True) for tool in PytestTool):
        assert not tool.annotations.destructive_hint
        assert not tool.annotations.open_world_hint


def test_one_output_schema_serves_all_tools_on_tests():
    assert all(tool.output_schema == TESTS[0].output_schema for tool in TESTS)
