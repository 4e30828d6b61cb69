"""A task with its hidden tests made weaker, a wrong fix that they let through, an honest one."""

from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """A piece of a file that is there once, and what stands in its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is made of one task."""

    task: str
    gone: tuple[str, ...]
    """The hidden tests that are taken away: without them, the wrong fix passes."""
    edited: tuple[Edit, ...] = ()  # what takes single parameters away
    wrong: tuple[Edit, ...]
    honest: tuple[Edit, ...]
    """Other code than the reference, and as right."""
