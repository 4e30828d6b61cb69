"""The whole corpus, and the part of it that Docker judges within the normal suite."""

import os

from tests.integrity import attacks, leaks, lies, poison, second_order, tampering
from tests.integrity.cheat import Cheat
from tests.integrity.honest import HONEST, Honest

CHEATS: tuple[Cheat, ...] = (
    *leaks.CHEATS,
    leaks.HEIRLOOM,
    *tampering.CHEATS,
    *poison.CHEATS,
    *lies.CHEATS,
    *attacks.CHEATS,
    *second_order.CHEATS,
)

_WHOLE = "AGENTBENCH_WHOLE_CORPUS"
"""Set to 1, Docker judges every case."""


def cheats_in_docker() -> list[Cheat]:
    """Those that are tried in Docker too."""
    return [cheat for cheat in CHEATS if cheat.in_docker or _all()]


def honest_in_docker() -> list[Honest]:
    """Those that are tried in Docker too."""
    return [honest for honest in HONEST if honest.in_docker or _all()]


def _all() -> bool:
    return os.environ.get(_WHOLE) == "1"
