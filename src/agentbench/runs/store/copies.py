"""The second copies of records, a record.json for each attempt.

Those that have no line, and the attempts that left no record at all.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.core.checksums import has_checksum
from agentbench.runs.store.configuration import why_invalid
from agentbench.runs.store.lines import ATTEMPTS
from agentbench.runs.store.summaries import AttemptSummary, by_attempt

RECORD_FILE = "record.json"
_RESCORED = ".rescored-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCopy:
    """A record.json that is whole."""

    path: Path
    headline: AttemptSummary
    rescored: int  # how many times it had been judged again

    @property
    def rank(self) -> tuple[int, int]:
        """Which try at its attempt it was, and how often that had been judged again."""
        return self.headline.retry_of or 0, self.rescored

    def record(self) -> AttemptRecord:
        """All of it.

        Raises:
            ValidationError: it was damaged since it was found.
        """
        return AttemptRecord.model_validate_json(self.path.read_bytes())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFolder:
    """The folder of a task's attempts, and how many records name each place in it."""

    path: Path
    said: Counter[str]

    def names(self) -> list[str]:
        """Of the folders in it."""
        return _names(self.path)

    def place(self, name: str) -> str:
        """How records name one of the folders."""
        return f"{self.path.name}/{name}"


def read_copy(path: Path) -> RecordCopy | str:
    """A record.json, or why it is not to be relied on."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "is not a regular file"
        content = path.read_bytes()
        headline = AttemptSummary.of(AttemptRecord.model_validate_json(content))
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    except ValidationError as error:
        return why_invalid(error)
    if not has_checksum(content):
        return "has no digest to check it by"
    name, _, rescored = path.parent.name.partition(_RESCORED)
    if headline.place != f"{path.parent.parent.name}/{name}":
        return f"is the record of {headline.place}"
    return RecordCopy(
        path=path, headline=headline, rescored=int(rescored) if rescored.isdigit() else 0
    )


def copies_without_lines(
    attempts: Path, headlines: Sequence[AttemptSummary]
) -> Iterator[RecordCopy]:
    """Every whole record.json of the places that have more of them than lines.

    Names of folders are compared with what lines say, task by task; a file is looked at only
    where they differ.

    Args:
        attempts: The folder of all attempts.
        headlines: Of all lines.
    """
    for task in tasks_of(attempts, headlines):
        yield from _copies_of_task(task)


def tasks_of(attempts: Path, headlines: Sequence[AttemptSummary]) -> Iterator[TaskFolder]:
    """The folder of each task, with the places that the records of a run say there are in it."""
    unmet = set(_names(attempts))
    order = by_attempt(headlines) if unmet else []
    for task_id, own in groupby(order, key=lambda number: headlines[number].task_id):
        if task_id in unmet:
            unmet.remove(task_id)
            said = Counter(headlines[number].place for number in own)
            yield TaskFolder(path=attempts / task_id, said=said)
    for name in sorted(unmet):
        yield TaskFolder(path=attempts / name, said=Counter())


def _copies_of_task(task: TaskFolder) -> Iterator[RecordCopy]:
    folders: dict[str, list[str]] = {}
    for name in task.names():
        folders.setdefault(task.place(name.partition(_RESCORED)[0]), []).append(name)
    for place, names in sorted(folders.items()):
        if len(names) <= task.said[place]:
            continue
        files = [
            path for name in sorted(names) if (path := task.path / name / RECORD_FILE).exists()
        ]
        if len(files) > task.said[place]:
            found = map(read_copy, files)
            yield from (copy for copy in found if isinstance(copy, RecordCopy))


def _names(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:  # or there is none
        return [entry.name for entry in entries if entry.is_dir()]
    return []


_RETRY = ".retry-"


def unrecorded_attempts(folder: Path, headlines: Sequence[AttemptSummary]) -> Iterator[str]:
    """A sentence for each attempt whose last try left no record that can be read."""
    for task in tasks_of(folder / "attempts", headlines):
        for name in _last_attempts(task):
            if task.place(name) in task.said:
                continue
            path = task.path / name / RECORD_FILE
            if not path.exists():
                yield f"{path.parent}: was cut off and left no record"
            elif isinstance(why := read_copy(path), str):
                yield f"{path}: {why}; it has no line in {ATTEMPTS}, so the attempt is made again"


def _last_attempts(task: TaskFolder) -> Iterator[str]:
    last: dict[str, tuple[int, str]] = {}
    for name in sorted(task.names()):
        attempt, _, retry = name.partition(_RETRY)
        if not attempt.isdigit() or (retry and not retry.isdigit()):
            continue  # one that was judged again
        rank = int(retry or 0)
        if attempt not in last or last[attempt][0] < rank:
            last[attempt] = (rank, name)
    yield from (name for _, name in last.values())
