"""Reads a run's records: intact copies replace damaged lines.

Every record is stored twice, as a line of attempts.jsonl and as the record.json of its attempt. A
power cut between the two, or a flipped bit in one, loses nothing. Only summaries stay in memory.
"""

import os
import stat
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby, takewhile
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.core.checksums import has_checksum
from agentbench.errors import InputError
from agentbench.runs.store.configuration import why_invalid
from agentbench.runs.store.lines import ATTEMPTS, RecordLines, read_lines_in_parallel
from agentbench.runs.store.summaries import AttemptKey, AttemptSummary, attempt_key, by_attempt

RECORD_FILE = "record.json"
_RESCORED = ".rescored-"
_RETRY = ".retry-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCopy:
    """A complete record.json."""

    path: Path
    summary: AttemptSummary
    rescored: int  # the number of times that it was judged again

    @property
    def rank(self) -> tuple[int, int]:
        """The number of its try at the attempt, and how often this was judged again."""
        return self.summary.retry_of or 0, self.rescored

    def record(self) -> AttemptRecord:
        """The whole record.

        Raises:
            ValidationError: it was damaged after it was found.
        """
        return AttemptRecord.model_validate_json(self.path.read_bytes())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFolder:
    """The folder of a task's attempts, and the number of records for each folder in it."""

    path: Path
    record_counts: Counter[str]

    def folder_name(self, name: str) -> str:
        """The name of one of the folders in records."""
        return f"{self.path.name}/{name}"


def read_copy(path: Path) -> RecordCopy | str:
    """A record.json, or why it cannot be trusted."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "is not a regular file"
        content = path.read_bytes()
        summary = AttemptSummary.of(AttemptRecord.model_validate_json(content))
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    except ValidationError as error:
        return why_invalid(error)
    if not has_checksum(content):
        return "has no digest, so it cannot be checked"
    name, _, rescored = path.parent.name.partition(_RESCORED)
    if summary.folder_name != f"{path.parent.parent.name}/{name}":
        return f"is the record of {summary.folder_name}"
    return RecordCopy(
        path=path, summary=summary, rescored=int(rescored) if rescored.isdigit() else 0
    )


def copies_without_lines(
    attempts: Path, summaries: Sequence[AttemptSummary]
) -> Iterator[RecordCopy]:
    """Every complete record.json of the folders that have more records than lines.

    The names of folders are compared with the lines, task by task; files are read only where they
    differ.

    Args:
        attempts: The folder of all attempts.
        summaries: The summaries of all lines.
    """
    for task in tasks_of(attempts, summaries):
        yield from _copies_of_task(task)


def tasks_of(attempts: Path, summaries: Sequence[AttemptSummary]) -> Iterator[TaskFolder]:
    """The folder of each task, with the number of records for each folder in it."""
    unmet = set(_names(attempts))
    order = by_attempt(summaries) if unmet else []
    for task_id, own in groupby(order, key=lambda number: summaries[number].task_id):
        if task_id in unmet:
            unmet.remove(task_id)
            counts = Counter(summaries[number].folder_name for number in own)
            yield TaskFolder(path=attempts / task_id, record_counts=counts)
    for name in sorted(unmet):
        yield TaskFolder(path=attempts / name, record_counts=Counter())


def _copies_of_task(task: TaskFolder) -> Iterator[RecordCopy]:
    folders: dict[str, list[str]] = {}
    for name in _names(task.path):
        folders.setdefault(task.folder_name(name.partition(_RESCORED)[0]), []).append(name)
    for folder, names in sorted(folders.items()):
        if len(names) <= task.record_counts[folder]:
            continue
        files = [
            path for name in sorted(names) if (path := task.path / name / RECORD_FILE).exists()
        ]
        if len(files) > task.record_counts[folder]:
            found = map(read_copy, files)
            yield from (copy for copy in found if isinstance(copy, RecordCopy))


def _names(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:  # or there is none
        return [entry.name for entry in entries if entry.is_dir()]
    return []


def unrecorded_attempts(folder: Path, summaries: Sequence[AttemptSummary]) -> Iterator[str]:
    """A sentence for each attempt whose last try left no readable record."""
    for task in tasks_of(folder / "attempts", summaries):
        for name in last_retries(sorted(_names(task.path))):
            if task.folder_name(name) in task.record_counts:
                continue
            path = task.path / name / RECORD_FILE
            if not path.exists():
                yield f"{path.parent}: was interrupted and left no record"
            elif isinstance(why := read_copy(path), str):
                yield f"{path}: {why}; it has no line in {ATTEMPTS}, so the attempt is repeated"


def last_retries(folders: Iterable[str]) -> list[str]:
    """The folder of each attempt's last retry; with or without the task's folder before it."""
    last: dict[str, tuple[int, str]] = {}
    for folder in folders:
        attempt, _, retry = folder.partition(_RETRY)
        number = attempt.rpartition("/")[2]
        if number.isdigit() and (not retry or retry.isdigit()):  # not judged again, nor foreign
            rank = (int(retry or 0), folder)
            last[attempt] = max(rank, last.get(attempt, rank))
    return [folder for _, folder in last.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """A run's records in the order they were appended; a whole record is read on request."""

    path: Path  # attempts.jsonl
    summaries: Sequence[AttemptSummary]
    offsets: "array[int]"  # of each: the start of its line, or -1 - n for the nth adopted copy
    set_aside: tuple[str, ...] = ()  # a sentence for each line that is not a record
    adopted: tuple[RecordCopy, ...] = ()  # records without a complete line

    def warnings(self) -> tuple[str, ...]:
        """Messages about damaged lines, and about the copies that replace them."""
        messages = (
            f"{copy.path}: has no complete line in {ATTEMPTS}; used as it is"
            for copy in self.adopted
        )
        return (*self.set_aside, *messages)

    def records(self, which: Iterable[int] | None = None) -> Iterator[AttemptRecord]:
        """Whole records, one at a time: all, or those of some summaries.

        Raises:
            InputError: a record was changed since, or has a valid digest but is not a record.
        """
        for number, stored in self.stored(range(len(self.summaries)) if which is None else which):
            where = self.path
            try:
                if isinstance(stored, RecordCopy):
                    where = stored.path
                    record = stored.record()
                else:
                    record = AttemptRecord.model_validate_json(stored)
            except ValidationError as error:
                attempt = self.summaries[number].folder_name
                raise InputError(
                    f"{where}: the record of {attempt}: {why_invalid(error)}"
                ) from None
            yield record

    def stored(self, which: Iterable[int]) -> Iterator[tuple[int, bytes | RecordCopy]]:
        """The line of each record, or its copy if it has no complete line, by its number."""
        any_line = self.path.is_file()
        with self.path.open("rb") if any_line else nullcontext(BytesIO()) as source:
            for number in which:
                offset = self.offsets[number]
                source.seek(max(offset, 0))
                yield number, self.adopted[-1 - offset] if offset < 0 else source.readline()

    def latest(self) -> list[int]:
        """The number of each attempt's last record, in the order of the first records."""
        order = by_attempt(self.summaries)
        groups = groupby(order, key=lambda number: attempt_key(self.summaries[number]))
        record_numbers = (list(own) for _, own in groups)
        return [last for _, last in sorted((own[0], own[-1]) for own in record_numbers)]

    def last_words(self) -> tuple[RecordCopy, ...]:
        """The adopted copies after the last line."""
        last = takewhile(lambda offset: offset < 0, reversed(self.offsets))
        return tuple(self.adopted[-1 - offset] for offset in last)[::-1]


def read_run(folder: Path, *, whole: bool = False, processes: int = 1) -> RunRecords:
    """Read the lines of a run, and find each complete record.json without a line.

    Records are in the order in which they were appended; warnings describe the damage.

    Args:
        folder: The folder of the run.
        whole: Check every field of every record, for callers that read all of them. Otherwise the
            digests show that the other fields are unchanged.
        processes: The number of processes for a very large run; the program's own main module must
            be safe to import.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    lines = RecordLines(path=folder / ATTEMPTS, whole=whole)
    read_lines_in_parallel(lines, processes)
    copies = list(copies_without_lines(folder / "attempts", lines.summaries))
    lines.read_on()  # records of running attempts have a copy before they have a line
    adopted = _without_line(lines, copies) if copies else []
    summaries, offsets = (
        _insert_copies(lines, adopted) if adopted else (lines.summaries, lines.starts)
    )
    return RunRecords(
        path=lines.path,
        summaries=summaries,
        offsets=offsets,
        set_aside=tuple(lines.set_aside),
        adopted=tuple(one.copy for one in adopted),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adopted:
    copy: RecordCopy
    before: int  # the number of the line after it


def _without_line(lines: RecordLines, copies: Sequence[RecordCopy]) -> list[_Adopted]:
    """The copies without an equal line, each at its place in the order of its attempt."""
    keys = {attempt_key(copy.summary) for copy in copies}
    own: dict[AttemptKey, list[int]] = {}
    for number, summary in enumerate(lines.summaries):
        if attempt_key(summary) in keys:
            own.setdefault(attempt_key(summary), []).append(number)
    adopted: list[_Adopted] = []
    everything = RunRecords(path=lines.path, summaries=lines.summaries, offsets=lines.starts)
    ordered = sorted(copies, key=lambda copy: (attempt_key(copy.summary), str(copy.path)))
    for attempt, group in groupby(ordered, key=lambda copy: attempt_key(copy.summary)):
        adopted += _of_attempt(list(group), own.get(attempt, []), everything)
    adopted.sort(key=lambda one: (one.before, attempt_key(one.copy.summary), one.copy.rank))
    return adopted


def _of_attempt(
    copies: list[RecordCopy], numbers: list[int], lines: RunRecords
) -> Iterator[_Adopted]:
    records = dict(zip(numbers, lines.records(numbers), strict=True)) if numbers else {}
    ranks = {number: (record.retry_of or 0, 0) for number, record in records.items()}
    lacking = []
    for copy in reversed(copies):
        whole = copy.record()
        alike = [number for number, record in records.items() if record == whole]
        ranks |= dict.fromkeys(alike, copy.rank)  # of the first one, if several are equal
        if not alike:
            lacking.append(copy)
    for copy in lacking:
        later = (number for number in numbers if ranks[number] > copy.rank)
        yield _Adopted(copy=copy, before=next(later, len(lines.summaries)))


def _insert_copies(
    lines: RecordLines, adopted: Sequence[_Adopted]
) -> tuple[list[AttemptSummary], "array[int]"]:
    summaries: list[AttemptSummary] = []
    offsets = array("q")
    done = 0
    for number, one in enumerate(adopted):
        summaries += lines.summaries[done : one.before]
        offsets += lines.starts[done : one.before]
        done = one.before
        summaries.append(one.copy.summary)
        offsets.append(-1 - number)
    return summaries + lines.summaries[done:], offsets + lines.starts[done:]
