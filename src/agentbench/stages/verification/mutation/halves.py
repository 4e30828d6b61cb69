"""Complementary halves of the functions to be controlled."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """Each function is in one of them; the first may be larger by one."""

    first: frozenset[str]
    second: frozenset[str]


def halves(functions: Iterable[str], rng: Random) -> Halves:
    """Divide functions at random, the same way for the same state of `rng`."""
    names = sorted(set(functions))
    rng.shuffle(names)
    middle = (len(names) + 1) // 2
    return Halves(first=frozenset(names[:middle]), second=frozenset(names[middle:]))
