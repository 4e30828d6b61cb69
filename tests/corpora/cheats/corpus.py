"""The whole corpus of cheats, and the part of it that Docker judges in the gate."""

from tests.corpora.cheats import attacks, leaks, lies, poison, regressions, second_order, tampering
from tests.corpora.cheats.cheat import Cheat, Kind
from tests.corpora.cheats.honest import HONEST, Honest

CHEATS: tuple[Cheat, ...] = (
    *leaks.CHEATS,
    leaks.HEIRLOOM,
    *tampering.CHEATS,
    *poison.CHEATS,
    *lies.CHEATS,
    *regressions.CHEATS,
    *attacks.CHEATS,
    *second_order.CHEATS,
)


def cheats_in_docker() -> list[Cheat]:
    """Those that the gate tries in Docker, too: one of each class; the soak tries all."""
    marked = [cheat for cheat in CHEATS if cheat.in_docker]
    return [cheat for kind in Kind for cheat in [c for c in marked if c.kind is kind][:1]]


def honest_in_docker() -> list[Honest]:
    """Those that the gate tries in Docker, too; the soak tries all."""
    return [honest for honest in HONEST if honest.in_docker]
