"""The names of graders and trials, in a module that starts quickly."""

from enum import StrEnum
from typing import Final

REFERENCE: Final = "reference"
"""The trial with the reference solution, which has to be rewarded."""

NOTHING: Final = "nothing"
"""The trial without a change, which must not be rewarded."""


class GraderName(StrEnum):
    """What decides on a reward."""

    AGENTBENCH = "agentbench"
    EXIT_CODE = "exit-code"
    HARBOR = "harbor"
