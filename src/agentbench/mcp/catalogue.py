"""How the tools present themselves to a client and its model."""

from collections.abc import Sequence
from functools import cache

from mcp.types import Tool, ToolAnnotations

from agentbench.mcp.compact_schema import compact
from agentbench.mcp.symbolic_tools import ENVELOPES, SYMBOLIC_ARGUMENTS, SymbolicTool
from agentbench.mcp.tools import ARGUMENTS, ToolName
from agentbench.pytest_results.tool_calls.envelope import output_schema
from agentbench.pytest_results.tool_calls.input_schema import input_schema

INSTRUCTIONS = (
    "Runs the project's pytest tests and says what they came to. Call execute_tests after a "
    "change; start with the tests next to it (paths or node_ids), then all of them. `outcome` is "
    "decided by evidence, not by the exit code alone: only `passed` means that every collected "
    "test ran to its end. Failing tests are no error of the tool. A timeout or a crash keeps the "
    "tests done so far; the one with outcome `unfinished` was running. `omitted` names what was "
    'left out for size: narrow the selection, or ask with detail="full".'
)
"""What the server tells a client's model about itself."""

SYMBOLIC_INSTRUCTIONS = (
    " Beyond tests: symbolic_check, find_path_to_exception, compare_functions and "
    "analyze_branches search the paths of a function that you hand over as code, in a sandbox. "
    "What they find they have really called; where nothing is found, bounds.exhaustive says "
    "whether that is a proof."
)
"""The same of the tools on functions."""

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


_SYMBOLIC_DESCRIPTIONS = {
    SymbolicTool.CHECK: "Search for an input on which a function breaks its contract (asserts at "
    "its top, pre: and post: lines in its docstring, icontract, deal), or, where it has none, "
    "raises an exception that its docstring does not declare.",
    SymbolicTool.FIND_PATH: "Search for an input on which a function raises an exception.",
    SymbolicTool.COMPARE: "Search for an input on which two functions of one text differ in what "
    "they return, raise or change: an old and a new version, say.",
    SymbolicTool.BRANCHES: "Search which branches of a function some input reaches, with an input "
    "for each; lines that none reaches, and its cyclomatic complexity.",
    SymbolicTool.HEALTH: "Whether the server works, with versions, and what is missing, by name.",
}


def instructions(offered: Sequence[SymbolicTool]) -> str:
    """What the server tells a client's model about itself."""
    return INSTRUCTIONS + (SYMBOLIC_INSTRUCTIONS if SymbolicTool.CHECK in offered else "")


@cache
def symbolic_catalogue(name: SymbolicTool) -> Tool:
    """One of the tools on functions, with its schemas. None of them has any effect."""
    return Tool(
        name=name.value,
        title=name.value.replace("_", " ").capitalize(),
        description=_SYMBOLIC_DESCRIPTIONS[name],
        input_schema=input_schema(SYMBOLIC_ARGUMENTS[name]),
        output_schema=compact(ENVELOPES[name].model_json_schema(mode="serialization")),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


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
            input_schema=input_schema(ARGUMENTS[name]),
            output_schema=compact(output_schema()),
            annotations=_annotations(name, isolated=isolated),
        )
        for name in ToolName
    )


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
