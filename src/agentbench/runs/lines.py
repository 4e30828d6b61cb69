"""The lines of attempts.jsonl: read one at a time, and kept as headlines and places."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from agentbench.runs.documents import is_damage, refuse_newer, why_invalid
from agentbench.runs.headline import Headline, Headlines
from agentbench.runs.record import AttemptRecord

ATTEMPTS = "attempts.jsonl"
_BUFFER = 1024 * 1024  # bytes: lines are longer than the usual buffer


@dataclass(slots=True, kw_only=True)
class Lines:
    """What the lines of a run say; a record itself is read again when somebody asks for it."""

    path: Path
    whole: bool = False  # check every field of every record, not the digests and what is kept
    headlines: list[Headline] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))  # in bytes, of each headline
    set_aside: list[str] = field(default_factory=list)  # a sentence for each line that is no record
    count: int = 0  # of all lines that were read
    end: int = 0  # bytes that were read
    _shared: Headlines = field(default_factory=Headlines)

    def read_on(self, *, whole_lines: bool = False, until: int | None = None) -> None:
        """Read what was not read yet.

        Args:
            whole_lines: Leave a last line without its end, which may be in the making, for later.
            until: Leave the lines that begin at this byte, or behind it, for later.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        for _, line in stretch(self.path, self.end, until, aligned=True):
            if whole_lines and not line.endswith(b"\n"):
                break
            self.count += 1
            if line.strip():
                self._take(line)
            self.end += len(line)

    def take_over(
        self, headlines: Iterable[Headline], starts: Iterable[int], *, count: int, end: int
    ) -> None:
        """Take over what somebody else read of the lines that come next."""
        self.headlines.extend(map(self._shared.share, headlines))
        self.starts.extend(starts)
        self.count += count
        self.end = end

    def _take(self, line: bytes) -> None:
        headline = None if self.whole else self._shared.of_sealed(line)
        if headline is None:
            where = f"{self.path}:{self.count}"
            record = record_of(line, where)
            if isinstance(record, str):
                self.set_aside.append(record)
                return
            headline = Headline.of(record)
        self.headlines.append(headline)
        self.starts.append(self.end)


def stretch(
    path: Path, begin: int, bound: int | None = None, *, aligned: bool = False
) -> Iterator[tuple[int, bytes]]:
    """The lines that begin within some bytes of a file, and where; none if there is no file.

    Args:
        path: The file.
        begin: From here on.
        bound: Up to here; None: up to the end.
        aligned: Whether a line is known to begin right there.
    """
    if not path.is_file():
        return
    with path.open("rb", buffering=_BUFFER) as source:
        if begin and not aligned:
            source.seek(begin - 1)
            begin += len(source.readline()) - 1
        source.seek(begin)
        for line in source:
            if bound is not None and begin >= bound:
                return
            yield begin, line
            begin += len(line)


def read_lines(folder: Path) -> tuple[list[AttemptRecord], list[str]]:
    """The whole records that the lines of a run hold, and a sentence for each that holds none.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    path = folder / ATTEMPTS
    records: list[AttemptRecord] = []
    set_aside: list[str] = []
    for number, (_, line) in enumerate(stretch(path, 0), start=1):
        if not line.strip():
            continue
        record = record_of(line, f"{path}:{number}")
        if isinstance(record, str):
            set_aside.append(record)
        else:
            records.append(record)
    return records, set_aside


def record_of(line: bytes, where: str) -> AttemptRecord | str:
    """The record of a line, or a sentence that sets it aside.

    Raises:
        InputError: it is of a newer agentbench.
    """
    try:
        return AttemptRecord.model_validate_json(line)
    except ValidationError as error:
        if not is_damage(error):
            refuse_newer(where, line)
        return f"{where}: set aside: {why_invalid(error)}"
