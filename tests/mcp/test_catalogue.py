import json

import jsonschema
import pytest

from agentbench.mcp.pytest_tools import PytestTool
from agentbench.mcp.server import INSTRUCTIONS, describe_tool
from agentbench.mcp.symbolic_tools import SymbolicTool
from agentbench.test_tools.arguments import InvalidArgumentsError, read_arguments

TESTS = tuple(describe_tool(tool, isolated=False) for tool in PytestTool)
SYMBOLIC = tuple(describe_tool(tool, isolated=False) for tool in SymbolicTool)
TOOLS = (*TESTS, *SYMBOLIC)
MODELS = {tool.value: tool.arguments for tool in (*PytestTool, *SymbolicTool)}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_is_one_and_is_closed(tool):
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_argument_has_one_type_a_description_and_an_example_that_is_taken(tool):
    for name, field in tool.input_schema["properties"].items():
        assert isinstance(field.get("type", "enum" in field and "string"), str)
        assert field["description"]
        (example,) = field["examples"]
        alone = {"exit_code": 1, name: example} if name == "stage" else {name: example}
        for other in tool.input_schema.get("required", ()):
            (alone[other],) = tool.input_schema["properties"][other]["examples"]
        jsonschema.validate(alone, tool.input_schema)
        read_arguments(MODELS[tool.name], alone)


@pytest.mark.parametrize(
    "arguments", [{"paths": ["-x"]}, {"bogus": 1}, {"keyword": ""}, {"paths": []}, {"paths": "a"}]
)
def test_what_the_schema_refuses_the_server_refuses(arguments):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, TOOLS[0].input_schema)
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


def test_the_tools_on_functions_change_nothing_and_reach_nothing():
    for tool in SYMBOLIC:
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint


def test_one_output_schema_serves_all_tools_on_tests():
    assert all(tool.output_schema == TESTS[0].output_schema for tool in TESTS)


def test_definitions_are_short():
    """4,000 characters are some thousand tokens of a model's context."""
    for tool in TOOLS:
        schemas = json.dumps([tool.input_schema, tool.output_schema], separators=(",", ":"))
        assert len(schemas) + len(tool.description) < 4000


def test_a_model_is_told_what_the_tools_are_for():
    assert "execute_tests" in INSTRUCTIONS
    assert all(tool.description and tool.title for tool in TOOLS)
