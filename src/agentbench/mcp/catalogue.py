"""How the tools present themselves to a client and its model."""

from functools import cache

from mcp.types import Tool, ToolAnnotations

from agentbench.mcp.envelope import output_schema
from agentbench.mcp.tools import ARGUMENTS, ToolName

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
    ToolName.EXECUTE: "Run pytest tests of the project and report every test's outcome, with "
    "messages and tracebacks of those that failed. Without arguments runs all tests.",
    ToolName.DISCOVER: "List the ids of the project's pytest tests without running them, and the "
    "files that cannot be collected with the error of each.",
    ToolName.EXPLAIN: "Explain why a benchmark attempt failed: what a reason of the failure "
    "taxonomy means, or what an exit code stands for in a stage. Give reason or exit_code.",
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
            output_schema=output_schema(),
            annotations=_annotations(name, isolated=isolated),
        )
        for name in ToolName
    )


def _input_schema(name: ToolName) -> dict[str, object]:
    schema = ARGUMENTS[name].model_json_schema()
    schema.pop("description", None)
    return schema


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
