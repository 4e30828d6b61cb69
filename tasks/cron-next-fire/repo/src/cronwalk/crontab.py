"""A table of named jobs."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from cronwalk.fields import CronError
from cronwalk.schedule import Schedule


@dataclass(frozen=True)
class Job:
    """One line of the table."""

    schedule: Schedule
    command: str


class Crontab:
    """Jobs in the order of the file."""

    def __init__(self, jobs: list[Job]):
        self.jobs = jobs

    @classmethod
    def parse(cls, text: str) -> Crontab:
        """Read a table: an expression and a command on each line, `#` begins a comment line.

        Raises:
            CronError: a line cannot be read; names the line.
        """
        jobs = []
        for number, line in enumerate(text.splitlines(), start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = line.split(None, 1 if line.startswith("@") else 5)
            expression, command = " ".join(words[:-1]), words[-1]
            try:
                jobs.append(Job(Schedule.parse(expression), command))
            except CronError as error:
                raise CronError(f"line {number}: {error}") from error
        return cls(jobs)

    def due(self, since: datetime, until: datetime) -> Iterator[tuple[datetime, str]]:
        """What is to be run after `since` and up to `until`, as (time, command), in order."""
        end = until.timestamp()

        def fires(job: Job) -> Iterator[tuple[float, datetime, str]]:
            moments = job.schedule.fires_after(since)
            stamped = ((moment.timestamp(), moment, job.command) for moment in moments)
            return takewhile(lambda fire: fire[0] <= end, stamped)

        for _, moment, command in heapq.merge(*map(fires, self.jobs), key=lambda fire: fire[0]):
            yield moment, command
