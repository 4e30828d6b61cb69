"""Reading a run's records: damaged lines are set aside, and whole copies taken in their place.

Every record is kept twice, as a line of attempts.jsonl and as the record.json of its attempt. A
power cut between the two, or a flipped bit in one, costs nothing.
"""

import json
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentbench.errors import InputError
from agentbench.runs.record import SCHEMA_VERSION, AttemptRecord
from agentbench.seals.document import DAMAGED, is_sealed

ATTEMPTS = "attempts.jsonl"
RECORD = "record.json"
_RESCORED = ".rescored-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecords:
    """The records of a run, and what could not be read of them."""

    records: tuple[AttemptRecord, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRecord:
    """A record.json that is whole."""

    path: Path
    record: AttemptRecord
    rescored: int  # how many times it had been judged again

    @property
    def place(self) -> str:
        """The folder of its attempt, below attempts/."""
        return place_of(self.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the lines of a run say, and which records have no whole line."""

    lines: tuple[AttemptRecord, ...]
    set_aside: tuple[str, ...]  # a sentence for each line that is no record
    adopted: tuple[KeptRecord, ...]
    beside: tuple[KeptRecord, ...] = ()  # those that have a line, and a place with an adopted one

    def warnings(self) -> tuple[str, ...]:
        """What was set aside, and what was taken in its place."""
        said = (
            f"{kept.path}: has no whole line in {ATTEMPTS}; taken as it is" for kept in self.adopted
        )
        return (*self.set_aside, *said)

    def all_records(self) -> tuple[AttemptRecord, ...]:
        """Every record; those without a line stand where their attempt's order puts them."""
        records = list(self.lines)
        for kept in self.adopted:
            records.insert(self._position(kept, records), kept.record)
        return tuple(records)

    def is_last_word(self, kept: KeptRecord) -> bool:
        """Whether no line of its attempt comes after an adopted record."""
        return self._position(kept, list(self.lines)) == len(self.lines)

    def _position(self, kept: KeptRecord, records: list[AttemptRecord]) -> int:
        rank = (kept.record.retry_of or 0, kept.rescored)
        attempt = (kept.record.task_id, kept.record.attempt)
        for position, other in enumerate(records):
            if (other.task_id, other.attempt) == attempt and self._rank(other) > rank:
                return position
        return len(records)

    def _rank(self, record: AttemptRecord) -> tuple[int, int]:
        """Which try it was, and how often that had been judged again."""
        known = (*self.adopted, *self.beside)
        own = [kept.rescored for kept in known if kept.record == record]
        return record.retry_of or 0, own[0] if own else 0


def read_run(folder: Path) -> Reading:
    """Read the lines of a run, and each whole record.json that has none.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    files = _record_files(folder)  # first: a line that is being written now is then no surprise
    lines, set_aside = read_lines(folder)
    kept = tuple(_where_lines_are_missing(files, lines))
    adopted = tuple(one for one in kept if one.record not in lines)
    return Reading(
        lines=tuple(lines),
        set_aside=tuple(set_aside),
        adopted=adopted,
        beside=tuple(one for one in kept if one not in adopted),
    )


def place_of(record: AttemptRecord) -> str:
    """The folder of a record's attempt, below attempts/."""
    retry = f".retry-{record.retry_of}" if record.retry_of else ""
    return f"{record.task_id}/{record.attempt}{retry}"


def refuse_newer(where: str, content: bytes) -> None:
    """Say so where a document is of a version to come.

    Raises:
        InputError: it is.
    """
    try:
        version = json.loads(content).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(
            f"{where}: schema_version {version} is of a newer agentbench, this one reads "
            f"up to {SCHEMA_VERSION}; upgrade agentbench"
        )


def why_invalid(error: ValidationError) -> str:
    """The first thing that is wrong with a document, on one line."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def is_damage(error: ValidationError) -> bool:
    """Whether a document's digest says that it is not what was written."""
    return error.errors()[0]["type"] == DAMAGED


def read_record_file(path: Path) -> KeptRecord | str:
    """A record.json, or why it is not to be relied on."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "is no regular file"
        content = path.read_bytes()
        record = AttemptRecord.model_validate_json(content)
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    except ValidationError as error:
        return why_invalid(error)
    if not is_sealed(content):
        return "has no digest to check it by"
    name, _, rescored = path.parent.name.partition(_RESCORED)
    if place_of(record) != f"{path.parent.parent.name}/{name}":
        return f"is the record of {place_of(record)}"
    return KeptRecord(path=path, record=record, rescored=int(rescored) if rescored.isdigit() else 0)


def read_lines(folder: Path) -> tuple[list[AttemptRecord], list[str]]:
    """The records that the lines of a run hold, and a sentence for each line that holds none.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    path = folder / ATTEMPTS
    records: list[AttemptRecord] = []
    set_aside: list[str] = []
    for number, line in _lines(path):
        try:
            records.append(AttemptRecord.model_validate_json(line))
        except ValidationError as error:
            if not is_damage(error):
                refuse_newer(f"{path}:{number}", line)
            set_aside.append(f"{path}:{number}: set aside: {why_invalid(error)}")
    return records, set_aside


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.is_file():
        return
    with path.open("rb") as source:
        for number, line in enumerate(source, start=1):
            if line.strip():
                yield number, line


def _record_files(folder: Path) -> dict[str, list[Path]]:
    """Every record.json, by the place of its attempt."""
    files: dict[str, list[Path]] = {}
    for path in sorted((folder / "attempts").glob(f"*/*/{RECORD}")):
        name = path.parent.name.partition(_RESCORED)[0]
        files.setdefault(f"{path.parent.parent.name}/{name}", []).append(path)
    return files


def _where_lines_are_missing(
    files: dict[str, list[Path]], lines: list[AttemptRecord]
) -> Iterator[KeptRecord]:
    """Every whole record.json of the places that have more of them than lines."""
    counted = Counter(map(place_of, lines))
    for place, paths in files.items():
        if len(paths) > counted[place]:
            read = map(read_record_file, paths)
            yield from (kept for kept in read if isinstance(kept, KeptRecord))
