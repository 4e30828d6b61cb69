"""What every tool of the MCP server keeps to, whoever offers it."""

import json

import jsonschema
from mcp import types

from agentbench.test_tools.arguments import ToolArguments, read_arguments


def check_schemas(tool: types.Tool) -> None:
    """Both are valid and closed."""
    for schema in (tool.input_schema, tool.output_schema):
        assert schema is not None
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False


def check_arguments(tool: types.Tool, arguments: type[ToolArguments]) -> None:
    """Each has one type, a description, and an example that the schema and the tool accept."""
    for name, field in tool.input_schema["properties"].items():
        assert isinstance(field.get("type", "enum" in field and "string"), str)
        assert field["description"]
        (example,) = field["examples"]
        alone = {"exit_code": 1, name: example} if name == "stage" else {name: example}
        for other in tool.input_schema.get("required", ()):
            (alone[other],) = tool.input_schema["properties"][other]["examples"]
        jsonschema.validate(alone, tool.input_schema)
        read_arguments(arguments, alone)


def check_length(tool: types.Tool) -> None:
    """4,000 characters are some thousand tokens of a model's context."""
    schemas = json.dumps([tool.input_schema, tool.output_schema], separators=(",", ":"))
    assert tool.description
    assert tool.title
    assert len(schemas) + len(tool.description) < 4000
