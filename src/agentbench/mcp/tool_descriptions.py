"""The descriptions of the tools for a client and its model, with short schemas."""

from collections.abc import Mapping
from functools import cache

from mcp.types import Tool, ToolAnnotations

from agentbench.core.schema import JsonObject
from agentbench.mcp.pytest_tools import PytestTool
from agentbench.pytest_results.tool_calls.arguments import NamedTool, input_schema

_NUMBERS = frozenset({"integer", "number"})


def compact_schema(schema: JsonObject) -> JsonObject:
    """A shorter, less strict schema: every value that fits the given schema fits this one.

    Definitions are inlined. Objects of numbers, and objects outside of lists, do not list their
    fields. Titles, defaults and inner descriptions are removed.
    """
    definitions = _object_fields(schema.get("$defs"))
    properties = {
        name: {**_field(field, definitions), **_description(field)}
        for name, field in _object_fields(schema["properties"]).items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema["required"],
        "additionalProperties": False,
    }


def _field(
    field: JsonObject, definitions: Mapping[str, JsonObject], *, in_list: bool = False
) -> JsonObject:
    reference, choices, items = field.get("$ref"), field.get("anyOf"), field.get("items")
    if isinstance(reference, str):
        named = definitions[reference.rpartition("/")[2]]
        return _field(named, definitions, in_list=in_list)
    if isinstance(choices, list):
        return {"anyOf": [_field(choice, definitions) for choice in choices]}
    if "enum" in field:
        return {"enum": field["enum"]}
    made: JsonObject = {"type": field["type"]}
    if isinstance(items, dict):
        made["items"] = _field(items, definitions, in_list=True)
    properties = _object_fields(field.get("properties"))
    if properties and all(inner.get("type") in _NUMBERS for inner in properties.values()):
        made["additionalProperties"] = {"type": "number"}
    elif in_list and properties:
        made["properties"] = {
            name: _field(inner, definitions) for name, inner in properties.items()
        }
    return made


def _description(field: JsonObject) -> JsonObject:
    return {"description": field["description"]} if "description" in field else {}


def _object_fields(value: object) -> dict[str, JsonObject]:
    return value if isinstance(value, dict) else {}


@cache
def describe_tool(tool: NamedTool, *, isolated: bool) -> Tool:
    """A tool with its schemas; `isolated` tests reach neither the network nor this machine."""
    runs_tests = tool in (PytestTool.EXECUTE, PytestTool.DISCOVER)
    return Tool(
        name=tool.value,
        title=tool.value.replace("_", " ").capitalize(),
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=compact_schema(tool.answer.model_json_schema(mode="serialization")),
        annotations=ToolAnnotations(
            read_only_hint=not runs_tests,
            destructive_hint=tool is PytestTool.EXECUTE and not isolated,
            idempotent_hint=tool is not PytestTool.EXECUTE,
            open_world_hint=runs_tests and not isolated,
        ),
    )
