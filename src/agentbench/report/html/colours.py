"""Colours of the pictures, by what they mean; the style sheet says what each looks like.

matplotlib wants a colour, so that each meaning has one which nobody would choose. In the SVG that
it writes they are exchanged for classes, and the reader's browser picks light or dark ones.
"""

from enum import StrEnum

from agentbench.scoring.taxonomy import Fault


class Colour(StrEnum):
    """A colour's meaning, and the name of its class."""

    INK = "ink"  # texts
    FAINT = "faint"  # axes and their texts
    GRID = "grid"
    RESOLVED = "resolved"
    AGENT = "agent"
    TASK = "task"
    INFRASTRUCTURE = "infrastructure"
    JUDGED = "judged"  # the second rate
    PAPER = "paper"  # what lies behind, and texts upon a colour

    @property
    def code(self) -> str:
        """The colour that stands for it in matplotlib."""
        return f"#0000{list(Colour).index(self) + 1:02x}"


BY_CODE = {colour.code: colour for colour in Colour}
"""The meaning of each code."""

OF_FAULT = {
    Fault.AGENT: Colour.AGENT,
    Fault.TASK: Colour.TASK,
    Fault.INFRASTRUCTURE: Colour.INFRASTRUCTURE,
}
"""The colour of each fault."""

HATCHES = {
    Colour.RESOLVED: "",
    Colour.AGENT: "///",
    Colour.TASK: "|||",
    Colour.INFRASTRUCTURE: "xxx",
}
"""How areas are told apart without their colour."""

NAMES = {
    Colour.RESOLVED: "resolved",
    Colour.AGENT: "failed, fault of the agent",
    Colour.TASK: "failed, fault of the task",
    Colour.INFRASTRUCTURE: "failed, fault of the infrastructure",
}
"""What legends say."""
