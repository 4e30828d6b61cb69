"""Reads the records of a run: one JSON line for each in attempts.jsonl.

Only a summary and the position of each record stay in memory; a whole record is read on request.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.errors import InputError
from agentbench.runs.store.configuration import why_invalid, why_refused
from agentbench.runs.store.summaries import AttemptSummary, attempt_key

ATTEMPTS = "attempts.jsonl"
RECORD_FILE = "record.json"
# Lines are longer than the usual buffer.
_BUFFER = 1024 * 1024
_FOLDER = re.compile(r"(\d+)(?:\.retry-(\d+))?(?:\.rescored-(\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """A run's records in the order in which they were appended."""

    path: Path  # attempts.jsonl
    summaries: Sequence[AttemptSummary] = ()
    offsets: Sequence[int] = ()  # the first byte of each record's line
    set_aside: tuple[str, ...] = ()  # a sentence for each line that is not a record
    count: int = 0  # of all complete lines
    end: int = 0  # the byte after the last complete line
    torn: str | None = None  # why an incomplete last line is not a record

    def warnings(self) -> tuple[str, ...]:
        """Messages about damaged lines."""
        return self.set_aside if self.torn is None else (*self.set_aside, self.torn)

    def records(self, which: Iterable[int] | None = None) -> Iterator[AttemptRecord]:
        """Whole records, one at a time: all, or those of some summaries.

        Raises:
            InputError: a record was changed since.
        """
        for number, line in self.stored(range(len(self.summaries)) if which is None else which):
            try:
                yield AttemptRecord.model_validate_json(line)
            except ValidationError as error:
                attempt = self.summaries[number].folder_name
                raise InputError(
                    f"{self.path}: the record of {attempt}: {why_invalid(error)}"
                ) from None

    def stored(self, which: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The line of each record, by its number."""
        numbers = list(which)
        if not numbers:
            return
        with self.path.open("rb") as source:
            for number in numbers:
                source.seek(self.offsets[number])
                yield number, source.readline()

    def latest(self) -> list[int]:
        """The number of each attempt's last record, in the order of the first records."""
        last = {attempt_key(summary): number for number, summary in enumerate(self.summaries)}
        return list(last.values())

    def read_on(self) -> "RunRecords":
        """These records and those appended since.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        if not self.path.is_file():  # no attempt has ended yet
            return self
        summaries, offsets = list(self.summaries), list(self.offsets)
        set_aside = list(self.set_aside)
        count, end, torn = self.count, self.end, None
        with self.path.open("rb", buffering=_BUFFER) as source:
            source.seek(end)
            for line in source:
                found = record_of(line, f"{self.path}:{count + 1}") if line.strip() else None
                if isinstance(found, AttemptRecord):
                    summaries.append(AttemptSummary.of(found))
                    offsets.append(end)
                elif not line.endswith(b"\n"):
                    # It may still be being written: the next read sees all of it.
                    torn = found
                    break
                elif found is not None:
                    set_aside.append(f"{found}; `agentbench resume` restores it if it can")
                count += 1
                end += len(line)
        return replace(
            self,
            summaries=summaries,
            offsets=offsets,
            set_aside=tuple(set_aside),
            count=count,
            end=end,
            torn=torn,
        )


def read_run(folder: Path) -> RunRecords:
    """Read the records of the run in a folder; there may be none yet.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    return RunRecords(path=folder / ATTEMPTS).read_on()


def record_of(content: bytes, where: str) -> AttemptRecord | str:
    """The record of a line, or a sentence that says why it has none.

    Raises:
        InputError: it is of a newer agentbench.
    """
    try:
        return AttemptRecord.model_validate_json(content)
    except ValidationError as error:
        return f"{where}: set aside: {why_refused(error, where, content)}"


@dataclass(frozen=True, slots=True, order=True)
class AttemptFolder:
    """A folder below attempts/ by its name: `1`, `1.retry-2`, `1.rescored-1`."""

    attempt: int
    retry: int  # the number of tries before
    rescored: int  # how often its record was judged again
    name: str  # with the folder of its task

    @classmethod
    def of(cls, name: str) -> "AttemptFolder | None":
        """What a name says; None if no attempt has such a folder."""
        found = _FOLDER.fullmatch(name.rpartition("/")[2])
        if found is None:
            return None
        attempt, retry, rescored = (int(part or 0) for part in found.groups())
        return cls(attempt=attempt, retry=retry, rescored=rescored, name=name)


def last_attempt_folders(names: Iterable[str]) -> list[str]:
    """The folder of each attempt's last try; the names begin with the folder of the task."""
    tries = [found for name in names if (found := AttemptFolder.of(name)) and not found.rescored]
    tries.sort(key=lambda one: (one.name.partition("/")[0], one))
    groups = groupby(tries, key=lambda one: (one.name.partition("/")[0], one.attempt))
    return [list(own)[-1].name for _, own in groups]


def folders_in(folder: Path) -> list[str]:
    """The names of the folders in a folder; none if it cannot be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return []
