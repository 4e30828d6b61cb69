"""Merges two texts with regard to a third one that both come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trimerge.matching import matches


@dataclass(frozen=True)
class Conflict:
    """A place that the two sides have changed in different ways."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True)
class Merge:
    """A merged text: settled lines and conflicts, in order."""

    parts: tuple[str | Conflict, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The places that a person has to settle."""
        return tuple(part for part in self.parts if isinstance(part, Conflict))

    @property
    def clean(self) -> bool:
        """Whether there is no conflict."""
        return not self.conflicts

    def text(self, ours: str = "ours", theirs: str = "theirs") -> str:
        """The merged text, with markers around the conflicts."""
        lines: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                lines.append(part)
                continue
            lines += [f"<<<<<<< {ours}\n", *_ended(part.ours)]
            lines += ["=======\n", *_ended(part.theirs)]
            lines += [f">>>>>>> {theirs}\n"]
        return "".join(lines)


def merge3(base: str, ours: str, theirs: str) -> Merge:
    """Merge two texts that both come from a base."""
    rows = _Rows(*(tuple(text.splitlines(keepends=True)) for text in (base, ours, theirs)))
    parts: list[str | Conflict] = []
    done = _Place(0, 0, 0)
    for place, length in _anchors(rows):
        parts += _settle(_between(rows, done, place))
        parts += rows.base[place.base : place.base + length]
        done = _Place(*(index + length for index in place))
    end = _Place(*map(len, rows))
    parts += _settle(_between(rows, done, end))
    return Merge(tuple(parts))


class _Rows(NamedTuple):
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class _Place(NamedTuple):
    base: int
    ours: int
    theirs: int


def _anchors(rows: _Rows) -> Iterator[tuple[_Place, int]]:
    """The runs of lines that neither side has changed, with their length."""
    our_runs = matches(rows.base, rows.ours)
    their_runs = matches(rows.base, rows.theirs)
    i = j = 0
    while i < len(our_runs) and j < len(their_runs):
        our, their = our_runs[i], their_runs[j]
        start = max(our.left, their.left)
        end = min(our.left + our.length, their.left + their.length)
        if start < end:
            place = _Place(start, our.right + start - our.left, their.right + start - their.left)
            yield place, end - start
        if our.left + our.length <= their.left + their.length:
            i += 1
        else:
            j += 1


def _between(rows: _Rows, start: _Place, end: _Place) -> _Rows:
    return _Rows(*(row[a:b] for row, a, b in zip(rows, start, end)))


def _settle(changed: _Rows) -> Sequence[str | Conflict]:
    """What becomes of lines that at least one side has changed."""
    if changed.ours == changed.theirs or changed.theirs == changed.base:
        return changed.ours
    if changed.ours == changed.base:
        return changed.theirs
    return [Conflict(*changed)]


def _ended(lines: Sequence[str]) -> list[str]:
    """The lines, the last one with a line end, so that a marker can follow."""
    return [line if line.endswith("\n") else line + "\n" for line in lines]
