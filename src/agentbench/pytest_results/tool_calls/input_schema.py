"""What a tool takes, as a model reads it."""

from collections.abc import Sequence

from agentbench.pytest_results.model import JsonObject
from agentbench.pytest_results.tool_calls.arguments import Arguments


def input_schema(arguments: type[Arguments]) -> JsonObject:
    """The JSON Schema of arguments, in few words.

    Optional arguments are left out, so null is no type of theirs, though it is taken as well.
    """
    schema = _bare(arguments.model_json_schema(), ("title",))
    schema.pop("description", None)
    properties = schema["properties"]
    assert isinstance(properties, dict)  # of pydantic's making
    schema["properties"] = {name: _without_null(field) for name, field in properties.items()}
    return schema


def _without_null(field: JsonObject) -> JsonObject:
    choices = field.get("anyOf")
    if not isinstance(choices, list):
        return field
    rest = {key: value for key, value in field.items() if key not in ("anyOf", "default")}
    return {**choices[0], **rest}


def _bare(schema: JsonObject, without: Sequence[str]) -> JsonObject:
    """A schema without some keywords: those that only repeat or explain cost a model attention."""
    return {
        key: {name: _bare(field, without) for name, field in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)  # names, not keywords
        else _bare_value(value, without)
        for key, value in schema.items()
        if key not in without
    }


def _bare_value(value: object, without: Sequence[str]) -> object:
    if isinstance(value, dict):
        return _bare(value, without)
    return [_bare_value(item, without) for item in value] if isinstance(value, list) else value
