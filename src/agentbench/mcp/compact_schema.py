"""A JSON Schema in few words: each tool's goes over the wire, and into a model's context."""

from collections.abc import Mapping

from agentbench.pytest_results.model import JsonObject

_NUMBERS = frozenset({"integer", "number"})


def compact(schema: JsonObject) -> JsonObject:
    """The same schema, less strict within: whatever fits the given one fits this one.

    Definitions stand where they are used; an object of numbers alone names none of them, and one
    that stands alone and not in a list none of its fields; titles, defaults and inner
    descriptions are gone.
    """
    definitions = _objects(schema.get("$defs"))
    properties = {
        name: {**_field(field, definitions), **_description(field)}
        for name, field in _objects(schema["properties"]).items()
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
    properties = _objects(field.get("properties"))
    if properties and all(inner.get("type") in _NUMBERS for inner in properties.values()):
        made["additionalProperties"] = {"type": "number"}
    elif in_list and properties:
        made["properties"] = {
            name: _field(inner, definitions) for name, inner in properties.items()
        }
    return made


def _description(field: JsonObject) -> JsonObject:
    return {"description": field["description"]} if "description" in field else {}


def _objects(value: object) -> dict[str, JsonObject]:
    return value if isinstance(value, dict) else {}
