"""A run as its page needs it: of each attempt the last headline, and when it began."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import pairwise

import msgspec

from agentbench.errors import InputError
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.headline import Headline
from agentbench.runs.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """One run of a page."""

    name: str  # of its folder
    attempts: Sequence[Headline]
    starts: Sequence[datetime]  # of each

    @classmethod
    def of(cls, run: ReportedRun) -> "ShownRun":
        """A run that was read.

        Raises:
            InputError: a record was changed since.
        """
        entrant = run.entrant
        starts = list(_starts(run.reading, run.latest))
        return cls(name=entrant.name, attempts=entrant.attempts, starts=starts)

    @property
    def began(self) -> datetime | None:
        """When its first attempt did."""
        return min(self.starts, default=None)

    def spans(self) -> list[tuple[float, float]]:
        """When each attempt began and ended, in seconds since the run's first one did.

        To the millisecond: what began as another ended did not overlap it.
        """
        began = self.began
        if began is None:
            return []
        first = ((start - began).total_seconds() for start in self.starts)
        return [
            (round(start, 3), round(start + attempt.total_s, 3))
            for start, attempt in zip(first, self.attempts, strict=True)
        ]

    @property
    def seconds(self) -> float:
        """From the first attempt's start to the last one's end."""
        return max((end for _, end in self.spans()), default=0.0)

    @property
    def most_at_once(self) -> int:
        """How many attempts were under way at the busiest moment."""
        return max((number for _, number in under_way(self.spans())), default=0)


def under_way(spans: Sequence[tuple[float, float]]) -> list[tuple[float, int]]:
    """How many of some spans hold each moment at which that changes; an end comes before a start.

    >>> under_way([(0, 2), (1, 3)])
    [(0, 1), (1, 2), (2, 1), (3, 0)]
    """
    changes = sorted(
        change for start, end in spans for change in ((start, 1), (max(start, end), -1))
    )
    moments: list[tuple[float, int]] = []
    number = 0
    for (at, step), following in pairwise([*changes, (float("inf"), 0)]):
        number += step
        if following[0] != at:
            moments.append((at, number))
    return moments


class _Began(msgspec.Struct):
    started_at: datetime


_DECODER = msgspec.json.Decoder(_Began)


def _starts(reading: Reading, numbers: Sequence[int]) -> Iterator[datetime]:
    """When attempts began: the one thing that their headlines do not tell."""
    any_line = reading.path.is_file()
    with reading.path.open("rb") if any_line else nullcontext(BytesIO()) as lines:
        for number in numbers:
            place = reading.places[number]
            if place < 0:
                yield reading.adopted[-1 - place].record().started_at
                continue
            lines.seek(place)
            try:
                yield _DECODER.decode(lines.readline()).started_at
            except msgspec.DecodeError as error:
                shown = reading.headlines[number].place
                raise InputError(
                    f"{reading.path}: the record of {shown} was changed while it was read: {error}"
                ) from None
