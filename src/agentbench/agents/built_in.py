"""The built-in agents and where others register, in a module that starts quickly."""

from typing import Final

from agentbench.core.extensions import Slot, offers

AGENT_ENTRY_POINTS: Final = "agentbench.agents"
"""The group of entry points under which packages offer agents."""
BUILT_IN_AGENTS: Final = {
    "oracle": "applies the reference solution: proves a task solvable",
    "noop": "changes nothing: proves a task not already solved",
    "command": "any command in the sandbox, given with --agent-command",
    **{name: row.about for name, row in offers(Slot.AGENT).items()},
}
"""The built-in agents and those of extensions, with their descriptions."""
REFERENCE_AGENTS: Final = frozenset({"oracle", "noop"})
"""The agents that run no code but the task's own: they need no model, and no isolation."""
