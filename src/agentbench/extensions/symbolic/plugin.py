"""The symbolic tools of the MCP server, and the comparison of fixes with the reference fix."""

from collections.abc import Mapping

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


def _words() -> Mapping[str, str]:
    return {
        "differs-from-reference": (
            "A finding of `audit --wrong-fixes`: an input on which the agent's code and the "
            "reference differ.\n"
            "  Where the instruction says nothing about this input, both may be right."
        ),
        "not-compared": (
            "A finding of `audit --wrong-fixes`: a function or an attempt that was not compared "
            "with the reference, and why."
        ),
        "compared": (
            "A finding of `audit --wrong-fixes`: how many functions and inputs were compared."
        ),
    }


def _libraries() -> object:
    from agentbench.extensions.symbolic.libraries import stored_libraries

    return stored_libraries


OFFERS = {
    Slot.WORDS: {"symbolic": Offer("The rules of the comparison.", _words)},
    Slot.MCP_TOOLS: {"symbolic": Offer("Search the paths of submitted functions.", _tools)},
    Slot.AUDIT: {"wrong-fixes": Offer("Compare fixes with the reference fix.", _comparison)},
    Slot.CHANGE_COMPARISON: {
        "inputs": Offer("Find inputs on which a fix differs.", _change_comparison)
    },
    Slot.STORED_LIBRARIES: {"symbolic library": Offer("crosshair and hypothesis.", _libraries)},
}
