"""How the tools present themselves to a client and its model."""

from collections.abc import Sequence
from functools import cache

from mcp.types import Tool, ToolAnnotations

from agentbench.mcp.compact_schema import compact
from agentbench.mcp.envelope import output_schema
from agentbench.mcp.tools import ARGUMENTS, ToolName
from agentbench.pytest_results.model import JsonObject

INSTRUCTIONS = (
    "Runs the project's pytest tests and says what they came to. Call execute_tests after a "
    "change; start with the tests next to it (paths or node_ids), then all of them. `outcome` is "
    "decided by evidence, not by the exit code alone: only `passed` means that every collected "
    "test ran to its end. Failing tests are no error of the tool. A timeout or a crash keeps the "
    "tests done so far; the one with outcome `unfinished` was running. `omitted` names what was "
    'left out for size: narrow the selection, or ask with detail="full".'
)
"""What the server tells a client's model about itself."""

_DESCRIPTIONS = {
    ToolName.EXECUTE: "Run the project's pytest tests: all, or those that paths or node_ids, "
    "keyword and markers select. last_failed repeats failures, max_failures and timeout_s end a "
    "run early, detail lifts the limit on size. Returns every test's outcome, with message and "
    "traceback of those that failed.",
    ToolName.DISCOVER: "Collect the project's pytest tests without running them, all or those "
    "that paths, keyword and markers select. Returns their ids, and the error of every file that "
    "cannot be collected.",
    ToolName.EXPLAIN: "Explain why a benchmark attempt failed, from a reason of the failure "
    "taxonomy, or from the exit_code that a stage ended with. Returns a text of a few lines.",
}


@cache
def catalogue(*, isolated: bool) -> tuple[Tool, ...]:
    """All tools, with their schemas.

    Args:
        isolated: Whether tests are kept from the network and from this machine.
    """
    return tuple(
        Tool(
            name=name.value,
            title=name.value.replace("_", " ").capitalize(),
            description=_DESCRIPTIONS[name],
            input_schema=_input_schema(name),
            output_schema=compact(output_schema()),
            annotations=_annotations(name, isolated=isolated),
        )
        for name in ToolName
    )


def _input_schema(name: ToolName) -> JsonObject:
    """Optional arguments are left out, so null is no type of theirs, though it is taken as well."""
    schema = _bare(ARGUMENTS[name].model_json_schema(), ("title",))
    del schema["description"]
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


def _annotations(name: ToolName, *, isolated: bool) -> ToolAnnotations:
    """Collecting runs a project's code as well: only an explanation is free of effects."""
    if name is ToolName.EXPLAIN:
        return ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=name is ToolName.EXECUTE and not isolated,
        idempotent_hint=name is ToolName.DISCOVER,
        open_world_hint=not isolated,
    )
