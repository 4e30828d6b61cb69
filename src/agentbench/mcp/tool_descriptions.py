"""The descriptions of the tools for a client and its model, with short schemas."""

from collections.abc import Mapping, Sequence
from functools import cache

from mcp.types import Tool, ToolAnnotations

from agentbench.core.schema import JsonObject
from agentbench.mcp.pytest_tools import PYTEST_ARGUMENTS, PytestTool
from agentbench.mcp.symbolic_tools import ENVELOPES, SYMBOLIC_ARGUMENTS, SymbolicTool
from agentbench.pytest_results.tool_calls.arguments import input_schema
from agentbench.pytest_results.tool_calls.envelope import PytestAnswer

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


INSTRUCTIONS = (
    "Runs the project's pytest tests and reports their results. Call execute_tests after a "
    "change; start with the tests next to it (paths or node_ids), then all of them. `outcome` is "
    "decided by evidence, not by the exit code alone: only `passed` means that every collected "
    "test ran to its end. Failing tests are not an error of the tool. A timeout or a crash keeps "
    "the tests done so far; the one with outcome `unfinished` was running. `omitted` names what "
    'was left out for size: narrow the selection, or ask with detail="full".'
)
"""What the server tells a client's model about itself."""

SYMBOLIC_INSTRUCTIONS = (
    " Beyond tests: symbolic_check, find_path_to_exception, compare_functions and "
    "analyze_branches search the paths of a function that you pass as code, in a sandbox. "
    "Each finding is confirmed by a real call; if there is none, bounds.exhaustive says whether "
    "that is a proof."
)
"""The instructions for the symbolic tools."""

_DESCRIPTIONS = {
    PytestTool.EXECUTE: "Run the project's pytest tests: all, or those that paths or node_ids, "
    "keyword and markers select. last_failed repeats failures, max_failures and timeout_s end a "
    "run early, detail lifts the limit on size. Returns every test's outcome, with message and "
    "traceback of those that failed.",
    PytestTool.DISCOVER: "Collect the project's pytest tests without running them, all or those "
    "that paths, keyword and markers select. Returns their ids, and the error of every file that "
    "cannot be collected.",
    PytestTool.EXPLAIN: "Explain why a benchmark attempt failed, from a reason of the failure "
    "taxonomy, or from the exit_code that a stage ended with. Returns a text of a few lines.",
}


_SYMBOLIC_DESCRIPTIONS = {
    SymbolicTool.CHECK: "Search for an input on which a function breaks its contract (asserts at "
    "its top, pre: and post: lines in its docstring, icontract, deal) or, if it has none, "
    "raises an exception that its docstring does not declare.",
    SymbolicTool.FIND_PATH: "Search for an input on which a function raises an exception.",
    SymbolicTool.COMPARE: "Search for an input on which two functions in one text differ in what "
    "they return, raise or change, such as an old and a new version.",
    SymbolicTool.BRANCHES: "Find the branches of a function that inputs reach, with an input for "
    "each, the lines that none reaches, and its cyclomatic complexity.",
    SymbolicTool.HEALTH: "Report whether the server works, its versions, and the missing parts.",
}


def server_instructions(offered: Sequence[SymbolicTool]) -> str:
    """What the server tells a client's model about itself."""
    return INSTRUCTIONS + (SYMBOLIC_INSTRUCTIONS if SymbolicTool.CHECK in offered else "")


@cache
def symbolic_tool_description(name: SymbolicTool) -> Tool:
    """One symbolic tool, with its schemas. None of them changes anything."""
    return Tool(
        name=name.value,
        title=name.value.replace("_", " ").capitalize(),
        description=_SYMBOLIC_DESCRIPTIONS[name],
        input_schema=input_schema(SYMBOLIC_ARGUMENTS[name]),
        output_schema=compact_schema(ENVELOPES[name].model_json_schema(mode="serialization")),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


@cache
def pytest_tool_descriptions(*, isolated: bool) -> tuple[Tool, ...]:
    """All tools, with their schemas.

    Args:
        isolated: Whether tests can reach neither the network nor this machine's files.
    """
    return tuple(
        Tool(
            name=name.value,
            title=name.value.replace("_", " ").capitalize(),
            description=_DESCRIPTIONS[name],
            input_schema=input_schema(PYTEST_ARGUMENTS[name]),
            output_schema=compact_schema(PytestAnswer.model_json_schema(mode="serialization")),
            annotations=_annotations(name, isolated=isolated),
        )
        for name in PytestTool
    )


def _annotations(name: PytestTool, *, isolated: bool) -> ToolAnnotations:
    """The annotations of a tool; collecting runs code, too, so only explaining is read-only."""
    if name is PytestTool.EXPLAIN:
        return ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=name is PytestTool.EXECUTE and not isolated,
        idempotent_hint=name is PytestTool.DISCOVER,
        open_world_hint=not isolated,
    )
