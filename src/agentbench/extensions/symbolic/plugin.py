"""The symbolic tools of the MCP server, and the comparison of fixes with the reference fix."""

from agentbench.core.extensions import Offer, Slot


def _tools() -> object:
    from agentbench.extensions.symbolic.mcp_tools import make_tool_set

    return make_tool_set


def _comparison() -> object:
    from agentbench.extensions.symbolic.differential.run_comparison import comparison

    return comparison


def _change_comparison() -> object:
    from agentbench.extensions.symbolic.differential.run_comparison import change_comparison

    return change_comparison


def _libraries() -> object:
    from agentbench.extensions.symbolic.libraries import stored_libraries

    return stored_libraries


OFFERS = {
    Slot.MCP_TOOLS: {"symbolic": Offer("Search the paths of submitted functions.", _tools)},
    Slot.AUDIT: {"wrong-fixes": Offer("Compare fixes with the reference fix.", _comparison)},
    Slot.CHANGE_COMPARISON: {
        "inputs": Offer("Find inputs on which a fix differs.", _change_comparison)
    },
    Slot.STORED_LIBRARIES: {"symbolic library": Offer("crosshair and hypothesis.", _libraries)},
}
